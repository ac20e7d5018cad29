/**
 * Makes a database for each chosen migration: migrated up to it, filled, copied without free pages, compressed. With `--release`
 * it also notes what the migrations of this version make.
 */
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { gzipSync } from 'node:zlib'
import { migrations } from '../../dist/src/base/storage/db/migrations.js'
import { createBackup } from '../../dist/src/base/storage/maintenance/backup.js'
import { openDatabase } from '../../dist/src/base/storage/open.js'
import {
  digestsOf,
  RELEASED_FILE,
  readReleased,
  schemaOfPostgres,
} from '../../dist/test/helpers/database/released-migrations.js'
import { fillTables } from './rows.mjs'

const folder = 'test/fixtures/schemas'
const names = Object.keys(migrations)
const numberOf = (name) => name.slice(0, 4)

function chosenNames(wanted) {
  if (wanted.length === 0) return names.filter((_, place) => place % 3 === 0 || place >= names.length - 3)
  return wanted.map((number) => {
    const name = names.find((one) => numberOf(one) === number)
    if (name === undefined) throw new Error(`there is no migration ${number}`)
    return name
  })
}

async function makeFixture(last, target) {
  const work = mkdtempSync(join(tmpdir(), 'posthorn-schema-'))
  try {
    const [file, copy] = [join(work, 'posthorn.db'), join(work, 'copy.db')]
    const known = Object.fromEntries(Object.entries(migrations).filter(([name]) => name <= last))
    const database = await openDatabase({ file, migrations: known })
    const rows = await fillTables(database)
    await database.close()
    await createBackup({ from: file, to: copy })
    const bytes = gzipSync(readFileSync(copy), { level: 9 })
    writeFileSync(target, bytes, { flag: 'wx' })
    process.stdout.write(`${target}: ${rows} rows, ${bytes.length} bytes\n`)
  } finally {
    rmSync(work, { recursive: true, force: true })
  }
}

/** What a release has noted stays: the tests compare it with what the migrations make now. */
function noteRelease(version) {
  const before = readReleased()
  const added = names.filter((name) => before[name] === undefined)
  const all = {
    ...before,
    ...Object.fromEntries(added.map((name) => [name, { release: version, ...digestsOf(name) }])),
  }
  if (added.length > 0) writeFileSync(RELEASED_FILE, `${JSON.stringify(all, null, 2)}\n`)
  const newest = names.at(-1)
  const target = join(folder, `${numberOf(newest)}.postgres.json.gz`)
  if (!existsSync(target))
    writeFileSync(target, gzipSync(JSON.stringify(schemaOfPostgres(newest)), { level: 9 }), { flag: 'wx' })
  process.stdout.write(`${RELEASED_FILE}: ${added.length === 0 ? 'no migration is new' : added.join(', ')}\n`)
  return [numberOf(newest)]
}

const [first, ...others] = process.argv.slice(2)
const wanted = first === '--release' ? noteRelease(others[0]) : process.argv.slice(2)
for (const name of chosenNames(wanted)) {
  const target = join(folder, `${numberOf(name)}.db.gz`)
  if (existsSync(target)) process.stdout.write(`${target} is there\n`)
  else await makeFixture(name, target)
}
