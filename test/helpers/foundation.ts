/**
 * Two workspaces with a key each and a verified domain each (a.test, other.test), and the
 * service's own key: made once for all databases of all test files, because five RSA keys
 * take a second. What was made is kept beside the compiled code, for as long as that code
 * is the same.
 */
import { mkdirSync, readdirSync, readFileSync, renameSync, statSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { foundWorkspace } from '../../src/accounts/workspaces.js'
import { UNLIMITED } from '../../src/config/plans.js'
import { newDomain, serviceKey } from '../../src/domains/new-domain.js'
import { parseAddress, parseDomainName } from '../../src/mail/address.js'
import type { Database } from '../../src/storage/database.js'
import { openDatabase } from '../../src/storage/open.js'
import { SERVICE } from '../../src/storage/tables.js'
import type { Write } from '../../src/storage/write.js'

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

/** Named after the newest compiled file of the program. */
function keptFile(): string {
  const compiled = readdirSync('dist/src', { recursive: true, encoding: 'utf8' }).filter((name) => name.endsWith('.js'))
  const newest = Math.max(...compiled.map((name) => statSync(join('dist/src', name)).mtimeMs))
  return `dist/foundation-${newest}.json`
}

/** Several test files may come upon nothing at once: each makes its own, and one of them stays. */
async function keptOrMade(): Promise<Made> {
  const file = keptFile()
  try {
    return JSON.parse(readFileSync(file, 'utf8')) as Made
  } catch {
    const fresh = await make()
    writeFileSync(`${file}.${process.pid}`, JSON.stringify(fresh), { mode: 0o600 })
    renameSync(`${file}.${process.pid}`, file)
    return fresh
  }
}

/** `file` null: the database has it already. */
export async function foundation(file: string | null): Promise<Founded> {
  made ??= keptOrMade()
  const { founded, writes } = await made
  if (file !== null) {
    mkdirSync(dirname(file), { recursive: true })
    const database = await openDatabase({ file })
    await database.commit(writes)
    await database.close()
  }
  return founded
}

/** The same in a database that is open. */
export async function founded(database: Database): Promise<Founded> {
  made ??= keptOrMade()
  const { founded, writes } = await made
  await database.commit(writes)
  return founded
}

async function make(): Promise<Made> {
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
