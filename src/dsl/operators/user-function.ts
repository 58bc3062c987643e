/**
 * A function that the user gave for values and keys. Its types were checked where the program was
 * written; in the engine keys and values are anything.
 */
// oxlint-disable-next-line typescript/no-explicit-any -- variance: a function of any types fits
export type UserFunction<R> = (value: any, key: any) => R

/** The function of an aggregation; a reducer leaves out the key. */
// oxlint-disable-next-line typescript/no-explicit-any -- variance: a function of any types fits
export type AggregateFunction = (aggregate: any, value: any, key: any) => unknown

/** Makes one value of those that a join has on both sides; undefined: that side has none. */
// oxlint-disable-next-line typescript/no-explicit-any -- variance: a function of any types fits
export type JoinFunction = (...valuesAndKeys: any[]) => unknown
