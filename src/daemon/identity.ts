/**
 * What this installation is, made once and kept in the database: the secrets of its return
 * paths and of the links that it signs, and the DKIM key of the service's own mail.
 */
import { createSecretKey, type KeyObject } from 'node:crypto'
import { dkimKeysOf } from '../domains/dkim/signing-keys.js'
import { createServiceKey } from '../domains/new-domain.js'
import { type Address, domainOf } from '../mail/address.js'
import { randomSecret } from '../platform/ids.js'
import type { Database } from '../storage/database.js'
import { initServiceState, readServiceState } from '../storage/service-state.js'
import { SERVICE_WORKSPACE } from '../storage/tables/tables.js'

const RETURN_PATH_SECRET = 'return_path_secret'
const LINK_SECRET = 'link_secret'

export interface Identity {
  readonly returnPathSecret: KeyObject
  readonly linkSecret: KeyObject
}

export async function ensureIdentity(database: Database, mailFrom: Address, now: number): Promise<Identity> {
  const domain = domainOf(mailFrom)
  if (dkimKeysOf(database.read, { workspaceId: SERVICE_WORKSPACE, domain }).length === 0) {
    await database.commit([await createServiceKey(domain, now, SERVICE_WORKSPACE)])
  }
  return {
    returnPathSecret: await ensureSecret(database, RETURN_PATH_SECRET),
    linkSecret: await ensureSecret(database, LINK_SECRET),
  }
}

/** Made where there is none yet. */
async function ensureSecret({ commit, read }: Database, key: string): Promise<KeyObject> {
  await commit([initServiceState({ key, value: randomSecret(32).toString('base64') })])
  const secret = readServiceState(read, { key })[0]?.value
  if (secret === undefined) throw new Error(`${key} is not in the database`)
  return createSecretKey(secret, 'base64')
}
