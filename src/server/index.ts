/** The door `millpond/server`: an instance with an HTTP service for its stores. */
export { serve } from './serve.ts'
export type { Service } from './service.ts'
export type { HttpConfig, ServeConfig } from './serve-config.ts'
export type { Expose, StoreOperation } from './exposure.ts'
