// The types lie with the serdes, which come below stores.
export type { Window, Windowed } from '../serde/windowed.ts'
