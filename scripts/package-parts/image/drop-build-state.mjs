/**
 * Makes an unpacked archive of `docker save` the same for each build: it removes the random id of the container in which
 * the image was built, which is its host name too, and gives the configuration the name that its new content has.
 *
 *   node drop-build-state.mjs DIR
 */
import { createHash } from 'node:crypto'
import { readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'

const [folder = ''] = process.argv.slice(2)
const manifestFile = join(folder, 'manifest.json')
const [image] = JSON.parse(readFileSync(manifestFile, 'utf8'))
const {
  container: _id,
  container_config: _settings,
  ...kept
} = JSON.parse(readFileSync(join(folder, image.Config), 'utf8'))
const text = JSON.stringify({ ...kept, config: { ...kept.config, Hostname: '' } })
const name = `${createHash('sha256').update(text).digest('hex')}.json`
rmSync(join(folder, image.Config))
writeFileSync(join(folder, name), text)
writeFileSync(manifestFile, JSON.stringify([{ ...image, Config: name }]))
dropOldForm()

/** What Docker before version 1.10 reads: folders of layers with links, and an index of names. Both have the random id. */
function dropOldForm() {
  const current = new Set(['manifest.json', name, ...image.Layers])
  for (const entry of readdirSync(folder)) if (!current.has(entry)) rmSync(join(folder, entry), { recursive: true })
}
