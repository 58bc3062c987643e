/** How whole numbers of 64 bits stand in a program. */
export type LongForm = 'number' | 'bigint'
