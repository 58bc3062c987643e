/** Compiles only when both types are the same. */
export type Same<A, B> =
  // oxlint-disable-next-line typescript/no-unnecessary-type-parameters -- how types are compared
  (<T>() => T extends A ? 1 : 2) extends <T>() => T extends B ? 1 : 2 ? true : 'types differ'

/** `same<A, B>(true)` does not compile when the types differ. */
export function same<A, B>(_proof: Same<A, B>): void {}
