/** A program that asks a schema registry, closes nothing, and ends by itself. */
import { SchemaRegistry } from 'millpond/schema-registry'

const registry = new SchemaRegistry({ url: process.argv[2] ?? '' })
const serde = registry.avro<string>({ subject: 'names', schema: 'string', register: true })
await serde.load()
process.stdout.write(Buffer.from(serde.serialize('hello')).toString('hex', 5))
