/** Writes the names of a release. The OpenAPI document is made without a daemon. */
import { writeFileSync } from 'node:fs'
import {
  formatPromised,
  listNames,
  noteRelease,
  PROMISED_FILE,
  readPromised,
} from '../../dist/test/helpers/code/promised-names.js'
import { buildDocuments } from '../ui-types-parts/documents.mjs'

const [version = ''] = process.argv.slice(2)

try {
  if (!/^\d+\.\d+\.\d+$/.test(version)) throw new Error(`VERSION: found "${version}", allowed: three numbers as 1.2.3`)
  const { api } = await buildDocuments()
  const promised = noteRelease(readPromised(), version, listNames(api))
  writeFileSync(PROMISED_FILE, formatPromised(promised))
  process.stdout.write(`${PROMISED_FILE}: ${Object.values(promised.names).flat().length} names of ${version}\n`)
} catch (error) {
  process.stderr.write(`promises: ${error.message}\n`)
  process.exitCode = 1
}
