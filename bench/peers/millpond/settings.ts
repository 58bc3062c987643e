/** What the runner asks of a program. The Java programs get the same as name=value. */
export interface Settings {
  readonly job: string
  readonly bootstrap: string
  readonly applicationId: string
  readonly stateDir: string
  readonly commitIntervalMs: number
  readonly cacheBytes: number
  readonly guarantee: 'at-least-once' | 'exactly-once'
  /** The topic that is processed. */
  readonly input: string
  /** The topic of the table, for the join. */
  readonly table: string
  /** The topic of what is made, for jobs that make something. */
  readonly output: string
}

/** What a program tells, as a line of JSON. */
export interface PeerEvent {
  /**
   * `running` carries the number of restored records as detail, `listening` the address before the
   * key; `done` is told by the HTTP client, with its figures.
   */
  readonly event: 'restoring' | 'running' | 'listening' | 'unsupported' | 'done'
  /** Milliseconds since 1970. */
  readonly at: number
  readonly detail: string
}
