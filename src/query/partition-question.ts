/** A question for one value, to one partition of a store of windows, sessions or versions. */
export type PointQuestion =
  | { readonly kind: 'window'; readonly key: unknown; readonly start: number }
  | {
      readonly kind: 'session'
      readonly key: unknown
      readonly start: number
      readonly end: number
    }
  | { readonly kind: 'version'; readonly key: unknown; readonly asOf: number | undefined }

/** A question for rows, to one partition of such a store. */
export type ScanQuestion =
  | {
      readonly kind: 'windows-of-key' | 'sessions-of-key' | 'versions-of-key'
      readonly key: unknown
      /** Of sessions the earliest end, of the others the earliest time. */
      readonly from: number
      /** Of sessions the latest start. */
      readonly to: number
      readonly reverse: boolean | undefined
    }
  | {
      readonly kind: 'windows' | 'sessions'
      /** Keys. */
      readonly from: unknown
      readonly to: unknown
      /** Of windows. */
      readonly timeFrom: number | undefined
      readonly timeTo: number | undefined
      readonly reverse: boolean | undefined
    }
