/** Writes the pages of docs/ that are made from the head comments of src/. */
import { writeFileSync } from 'node:fs'
import { buildPages } from '../../dist/test/helpers/code/index-of-files.js'
import { readSources } from '../../dist/test/helpers/code/read-sources.js'

for (const [path, text] of Object.entries(buildPages(readSources('src')))) writeFileSync(path, text)
