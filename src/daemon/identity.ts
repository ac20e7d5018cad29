/**
 * What this installation is, made once and kept in the database: the secret of its
 * return paths and the DKIM key of the service's own mail.
 */
import { createSecretKey, type KeyObject } from 'node:crypto'
import { serviceKey } from '../domains/new-domain.js'
import { dkimKeysOf } from '../domains/signing-keys.js'
import { type Address, domainOf } from '../mail/address.js'
import { randomSecret } from '../platform/ids.js'
import type { Database } from '../storage/database.js'
import { keepServiceState, serviceState } from '../storage/service-state.js'
import { SERVICE } from '../storage/tables.js'

const RETURN_PATH_SECRET = 'return_path_secret'

export interface Identity {
  readonly returnPathSecret: KeyObject
}

export async function ensureIdentity(database: Database, mailFrom: Address, now: number): Promise<Identity> {
  const domain = domainOf(mailFrom)
  if (dkimKeysOf(database.read, { workspaceId: SERVICE, domain }).length === 0) {
    await database.commit([await serviceKey(domain, now, SERVICE)])
  }
  await database.commit([keepServiceState({ key: RETURN_PATH_SECRET, value: randomSecret(32).toString('base64') })])
  const secret = serviceState(database.read, { key: RETURN_PATH_SECRET })[0]?.value
  if (secret === undefined) throw new Error('the secret of the return paths is not in the database')
  return { returnPathSecret: createSecretKey(secret, 'base64') }
}
