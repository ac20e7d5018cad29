/**
 * Two workspaces with a key each and a verified domain each (a.test, other.test), and the
 * service's own key, with a certificate: made once for all test files, because five RSA keys
 * take a second, and a new database a quarter of one. What was made is kept beside the
 * compiled code, for as long as that code is the same.
 */
import {
  cpSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs'
import { dirname, join } from 'node:path'
import { foundWorkspace } from '../../src/accounts/workspaces.js'
import { UNLIMITED } from '../../src/config/plans.js'
import { newDomain, serviceKey } from '../../src/domains/new-domain.js'
import { parseAddress, parseDomainName } from '../../src/mail/address.js'
import { systemClock } from '../../src/platform/clock.js'
import { loadTls } from '../../src/platform/tls-files.js'
import type { Database } from '../../src/storage/database.js'
import { databaseFile, openDatabase } from '../../src/storage/open.js'
import { SERVICE } from '../../src/storage/tables/tables.js'
import type { Write } from '../../src/storage/writer/write.js'

export interface Founded {
  readonly key: string
  readonly workspaceId: string
  readonly otherKey: string
  readonly otherWorkspaceId: string
}

const BORN = Date.UTC(2026, 0, 1)
const nothing = (): [] => []

interface Made {
  readonly founded: Founded
  readonly writes: readonly Write[]
}

let made: Promise<Made> | undefined

let kept: string | undefined

function keptFolder(): string {
  kept ??= folderOfThisCode()
  return kept
}

/** Named after the newest compiled file of the program. */
function folderOfThisCode(): string {
  const compiled = readdirSync('dist/src', { recursive: true, encoding: 'utf8' }).filter((name) => name.endsWith('.js'))
  const newest = Math.max(...compiled.map((name) => statSync(join('dist/src', name)).mtimeMs))
  return `dist/foundation-${newest}`
}

/** Several test files may come upon nothing at once: each makes its own, and one of them stays. */
async function keptOrMade(): Promise<Made> {
  const folder = keptFolder()
  if (!existsSync(folder)) {
    const own = `${folder}.${process.pid}`
    await make(own)
    try {
      renameSync(own, folder)
    } catch {
      rmSync(own, { recursive: true }) // another was faster
    }
  }
  return JSON.parse(readFileSync(join(folder, 'made.json'), 'utf8')) as Made
}

/** The data folder of a daemon that was founded before. `file`: its database; null: it is there already. */
export async function foundation(file: string | null): Promise<Founded> {
  made ??= keptOrMade()
  const { founded } = await made
  if (file !== null) cpSync(join(keptFolder(), 'data'), dirname(file), { recursive: true })
  return founded
}

/** The same in a database that is open. */
export async function founded(database: Database): Promise<Founded> {
  made ??= keptOrMade()
  const { founded, writes } = await made
  await database.commit(writes)
  return founded
}

async function make(folder: string): Promise<void> {
  const made = await foundedWrites()
  const data = join(folder, 'data')
  mkdirSync(data, { recursive: true, mode: 0o700 })
  const database = await openDatabase({ file: databaseFile(data) })
  await database.commit(made.writes)
  await database.close()
  await loadTls(null, { folder: join(data, 'tls'), hostname: 'mail.service.test', now: systemClock() })
  writeFileSync(join(folder, 'made.json'), JSON.stringify(made), { mode: 0o600 })
}

async function foundedWrites(): Promise<Made> {
  const own = foundWorkspace(nothing, 'Own', parseAddress('owner@a.test'), UNLIMITED, BORN)
  const other = foundWorkspace(nothing, 'Other', parseAddress('owner@other.test'), UNLIMITED, BORN + 1)
  const domain = async (workspaceId: string, name: string): Promise<Write[]> => {
    const wanted = { workspaceId, domain: parseDomainName(name), forced: true, inbound: false, now: BORN }
    return (await newDomain(nothing, wanted)).writes
  }
  const writes = await Promise.all([
    domain(own.workspaceId, 'a.test'),
    domain(other.workspaceId, 'other.test'),
    serviceKey(parseDomainName('mail.service.test'), BORN, SERVICE),
  ])
  return {
    founded: {
      key: own.key.secret,
      workspaceId: own.workspaceId,
      otherKey: other.key.secret,
      otherWorkspaceId: other.workspaceId,
    },
    writes: [...own.writes, ...other.writes, ...writes.flat()],
  }
}
