import type {
  CountAnswer,
  CountRequest,
  GetAnswer,
  GetRequest,
  PageAnswer,
  PageRequest,
  QueryExecutor,
} from '../query/request.ts'
import type { Exposure } from './exposure.ts'

/**
 * Questions of this process to the whole application. They may ask what HTTP may ask: instances ask
 * each other over HTTP, and what worked with one instance must not fail with two.
 */
export class ExposedExecutor implements QueryExecutor {
  readonly #exposure: Exposure
  readonly #executor: QueryExecutor

  constructor(exposure: Exposure, executor: QueryExecutor) {
    this.#exposure = exposure
    this.#executor = executor
  }

  async get(request: GetRequest): Promise<GetAnswer> {
    this.#exposure.assertGranted(request.store, 'get')
    return this.#executor.get(request)
  }

  async page(request: PageRequest): Promise<PageAnswer> {
    this.#exposure.assertGranted(request.store, 'range')
    return this.#executor.page(request)
  }

  async count(request: CountRequest): Promise<CountAnswer> {
    this.#exposure.assertGranted(request.store, 'range')
    return this.#executor.count(request)
  }
}
