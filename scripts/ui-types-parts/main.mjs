/** Writes the types of both OpenAPI documents, of the interface and of the session routes, for src/ui/. */
import { readFile, writeFile } from 'node:fs/promises'
import openapiTypescript, { astToString } from 'openapi-typescript'
import { buildDocuments } from './documents.mjs'

const { api, session } = await buildDocuments()
await writeTypes('src/ui/api/schema.d.ts', api)
await writeTypes('src/ui/api/session-schema.d.ts', session)

/** A file that is unchanged keeps its time, so that watching builds do not start again. */
async function writeTypes(path, document) {
  const text = astToString(await openapiTypescript(document))
  if ((await readFile(path, 'utf8').catch(() => '')) !== text) await writeFile(path, text)
}
