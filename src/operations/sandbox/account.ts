/**
 * The account of the sandbox: a workspace with its owner, a key, and the domain example.test, verified without DNS.
 *
 * The key is shown in full at every start, so it is stored in a file with mode 0600. The file is written after the
 * commit: if the process ends in between, the next start creates another key. Existing parts are used as they are.
 */
import { readFileSync } from 'node:fs'
import { writeFile } from 'node:fs/promises'
import { UNLIMITED } from '../../base/config/plans.js'
import { parseAddress, parseDomainName } from '../../base/mail/address.js'
import { Refusal } from '../../base/mail/refusal.js'
import { errorCodeOf } from '../../base/platform/errors.js'
import type { Database } from '../../base/storage/db/database.js'
import type { Read } from '../../base/storage/db/prepared.js'
import { permissionFor } from '../../workspaces/accounts/access/permissions.js'
import { generateKey, hashKey, insertKey, keyByHash } from '../../workspaces/accounts/keys/api-keys.js'
import { authenticateKey } from '../../workspaces/accounts/keys/key-check.js'
import { initOperatorWorkspace } from '../../workspaces/accounts/workspace/operator-workspace.js'
import { allWorkspaces, buildWorkspaceWithOwner, ownerOf } from '../../workspaces/accounts/workspace/workspaces.js'
import { buildDomain } from '../../workspaces/domains/new-domain.js'
import { domainByName, forceVerified } from '../../workspaces/domains/rows/sending-domains.js'
import { DOMAIN, HOST } from './paths.js'

interface Account {
  readonly workspaceId: string
  readonly key: string
}

export async function ensureAccount(database: Database, keyFile: string, now: number): Promise<Account> {
  const storedAccount = await findStoredAccount(database.read, keyFile, now)
  const account = storedAccount ?? (await createAccount(database, now))
  if (storedAccount === null) await writeFile(keyFile, `${account.key}\n`, { mode: 0o600 })
  await ensureDomain(database, account.workspaceId, now)
  return account
}

/** Null if no key is stored, or it is revoked, may not send, or belongs to another database. */
async function findStoredAccount(read: Read, keyFile: string, now: number): Promise<Account | null> {
  const key = readStoredKey(keyFile)
  if (key === null) return null
  try {
    const principal = authenticateKey((await keyByHash(read, { hash: hashKey(key) }))[0], HOST, now)
    return permissionFor(principal, 'send') === 'yes' ? { workspaceId: principal.workspaceId, key } : null
  } catch (error) {
    if (error instanceof Refusal) return null
    throw error
  }
}

function readStoredKey(keyFile: string): string | null {
  try {
    return readFileSync(keyFile, 'utf8').trim()
  } catch (error) {
    if (errorCodeOf(error) === 'ENOENT') return null
    throw error
  }
}

async function createAccount({ read, commit }: Database, now: number): Promise<Account> {
  const workspaceId = (await allWorkspaces(read, {}))[0]?.id
  const userId = workspaceId === undefined ? undefined : (await ownerOf(read, { workspaceId }))[0]?.user_id
  if (workspaceId !== undefined && userId !== undefined) {
    const { secret, row } = generateKey({ workspaceId, userId, name: 'quickstart', now })
    await commit([insertKey(row)])
    return { workspaceId, key: secret }
  }
  const founded = await buildWorkspaceWithOwner(read, 'Quickstart', parseAddress(`owner@${DOMAIN}`), UNLIMITED, now)
  await commit([...founded.writes, initOperatorWorkspace(founded.workspaceId)])
  return { workspaceId: founded.workspaceId, key: founded.key.secret }
}

async function ensureDomain({ read, commit }: Database, workspaceId: string, now: number): Promise<void> {
  const domain = parseDomainName(DOMAIN)
  const row = (await domainByName(read, { workspaceId, domain }))[0]
  if (row?.status === 'verified') return
  await commit(
    row === undefined
      ? (await buildDomain(read, { workspaceId, domain, forced: true, inbound: true, now })).writes
      : [forceVerified({ workspaceId, domain, at: now })],
  )
}
