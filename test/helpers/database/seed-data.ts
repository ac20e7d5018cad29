/**
 * Two workspaces with a key and a verified domain each (a.test, other.test), and the service's own key, with a
 * certificate: made once for all test files, because five RSA keys take a second, and a new database a quarter of
 * one. Stored beside the compiled code, for as long as that code is the same.
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
import { UNLIMITED } from '../../../src/base/config/plans.js'
import { parseAddress, parseDomainName } from '../../../src/base/mail/address.js'
import { systemClock } from '../../../src/base/platform/clock.js'
import { loadTlsFiles } from '../../../src/base/platform/tls-files.js'
import type { Database } from '../../../src/base/storage/db/database.js'
import { type Engine, engineInUse } from '../../../src/base/storage/db/engine.js'
import type { Write } from '../../../src/base/storage/db/write.js'
import { databaseFile, openDatabase } from '../../../src/base/storage/open.js'
import { SERVICE_WORKSPACE } from '../../../src/base/storage/tables/tables.js'
import { buildWorkspaceWithOwner } from '../../../src/workspaces/accounts/workspace/workspaces.js'
import { buildDomain, createServiceKey } from '../../../src/workspaces/domains/new-domain.js'

export interface SeedAccounts {
  readonly key: string
  readonly workspaceId: string
  readonly otherKey: string
  readonly otherWorkspaceId: string
}

const CREATED_AT = Date.UTC(2026, 0, 1)
const readNothing = (): [] => []

interface SeedData {
  readonly accounts: SeedAccounts
  readonly writes: readonly Write[]
}

/** Writes are in the words of one engine. */
const cachedSeeds = new Map<Engine, Promise<SeedData>>()

const cachedFolders = new Map<Engine, string>()

function seedFolder(): string {
  return getOrAdd(cachedFolders, engineInUse(), nameSeedFolder)
}

function loadSeed(): Promise<SeedData> {
  return getOrAdd(cachedSeeds, engineInUse(), loadOrBuildSeed)
}

function getOrAdd<Value>(cache: Map<Engine, Value>, engine: Engine, make: (engine: Engine) => Value): Value {
  const value = cache.get(engine) ?? make(engine)
  cache.set(engine, value)
  return value
}

/** Named after the newest compiled file of the program. */
function nameSeedFolder(engine: Engine): string {
  const compiled = readdirSync('dist/src', { recursive: true, encoding: 'utf8' }).filter((name) => name.endsWith('.js'))
  const newest = Math.max(...compiled.map((name) => statSync(join('dist/src', name)).mtimeMs))
  return `dist/foundation-${newest}${engine === 'sqlite' ? '' : `-${engine}`}`
}

/** Several test files may find nothing at the same time: each makes its own, and one of them stays. */
async function loadOrBuildSeed(): Promise<SeedData> {
  const folder = seedFolder()
  if (!existsSync(folder)) {
    const own = `${folder}.${process.pid}`
    await buildSeed(own)
    try {
      renameSync(own, folder)
    } catch {
      rmSync(own, { recursive: true }) // another process was faster
    }
  }
  return JSON.parse(readFileSync(join(folder, 'made.json'), 'utf8')) as SeedData
}

/** The data folder of a daemon that was set up before. `file`: its database, which is one of SQLite; null: it exists already. */
export async function copySeed(file: string | null): Promise<SeedAccounts> {
  const { accounts } = await loadSeed()
  if (file !== null) cpSync(join(seedFolder(), 'data'), dirname(file), { recursive: true })
  return accounts
}

/** The same in an open database. */
export async function seedDatabase(database: Pick<Database, 'commit'>): Promise<SeedAccounts> {
  const { accounts, writes } = await loadSeed()
  await database.commit(writes)
  return accounts
}

async function buildSeed(folder: string): Promise<void> {
  const made = await buildSeedWrites()
  const data = join(folder, 'data')
  mkdirSync(data, { recursive: true, mode: 0o700 })
  if (engineInUse() === 'sqlite') {
    const database = await openDatabase({ file: databaseFile(data) })
    await database.commit(made.writes)
    await database.close()
  }
  await loadTlsFiles(null, { folder: join(data, 'tls'), hostname: 'mail.service.test', now: systemClock() })
  writeFileSync(join(folder, 'made.json'), JSON.stringify(made), { mode: 0o600 })
}

async function buildSeedWrites(): Promise<SeedData> {
  const own = await buildWorkspaceWithOwner(readNothing, 'Own', parseAddress('owner@a.test'), UNLIMITED, CREATED_AT)
  const other = await buildWorkspaceWithOwner(
    readNothing,
    'Other',
    parseAddress('owner@other.test'),
    UNLIMITED,
    CREATED_AT + 1,
  )
  const domain = async (workspaceId: string, name: string): Promise<Write[]> => {
    const request = { workspaceId, domain: parseDomainName(name), forced: true, inbound: false, now: CREATED_AT }
    return (await buildDomain(readNothing, request)).writes
  }
  const writes = await Promise.all([
    domain(own.workspaceId, 'a.test'),
    domain(other.workspaceId, 'other.test'),
    createServiceKey(parseDomainName('mail.service.test'), CREATED_AT, SERVICE_WORKSPACE),
  ])
  return {
    accounts: {
      key: own.key.secret,
      workspaceId: own.workspaceId,
      otherKey: other.key.secret,
      otherWorkspaceId: other.workspaceId,
    },
    writes: [...own.writes, ...other.writes, ...writes.flat()],
  }
}
