/** Writes the types of both OpenAPI documents, of the interface and of the session routes, for src/ui/ and clients/js/. */
import { readFile, writeFile } from 'node:fs/promises'
import openapiTypescript, { astToString } from 'openapi-typescript'
import { buildDocuments } from './documents.mjs'

const { api, session } = await buildDocuments()
const apiTypes = await formatTypes(api)
await writeIfChanged('src/ui/api/schema.d.ts', apiTypes)
await writeIfChanged('src/ui/api/session-schema.d.ts', await formatTypes(session))
await writeIfChanged('clients/js/src/schema.ts', apiTypes)

async function formatTypes(document) {
  return astToString(await openapiTypescript(document))
}

/** A file that is unchanged keeps its time, so that watching builds do not start again. */
async function writeIfChanged(path, text) {
  if ((await readFile(path, 'utf8').catch(() => '')) !== text) await writeFile(path, text)
}
