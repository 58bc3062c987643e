/** A stretch of time, in milliseconds since the epoch. Whether `end` belongs to it is for the windows to say. */
export interface Window {
  readonly start: number
  /**
   * Of time windows: the first moment behind it (Infinity when they are unlimited). Of sessions and
   * sliding windows: its last one.
   */
  readonly end: number
}

/** A key in a window: what windowed aggregations have for a key. Java's Windowed. */
export interface Windowed<K> {
  readonly key: K
  readonly window: Window
}
