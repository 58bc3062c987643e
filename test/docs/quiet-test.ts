/** Stands for `node:test` when programs of the documentation run: says nothing but what they print. */
export async function test(_name: string, run: () => void | Promise<void>): Promise<void> {
  await run()
}
