/**
 * The *service* is the installation itself. Its identity is created once and stored in the database: the secrets of
 * return paths, links and SMS codes, and the DKIM key of its own mail.
 */
import { createSecretKey, type KeyObject } from 'node:crypto'
import { type Address, domainOf } from '../../base/mail/address.js'
import { randomSecret } from '../../base/platform/ids.js'
import type { Store } from '../../base/storage/db/database.js'
import { initServiceState, readServiceState } from '../../base/storage/db/service-state.js'
import { SERVICE_WORKSPACE } from '../../base/storage/tables/tables.js'
import { dkimKeysOf } from './dkim/signing-keys.js'
import { createServiceKey } from './new-domain.js'

const RETURN_PATH_SECRET = 'return_path_secret'
const LINK_SECRET = 'link_secret'
const SMS_SECRET = 'sms_secret'

export interface ServiceIdentity {
  readonly returnPathSecret: KeyObject
  readonly linkSecret: KeyObject
  /** The key of the hashes of codes sent by SMS, and of the URLs of their receipts. */
  readonly smsSecret: KeyObject
}

export async function ensureServiceIdentity(database: Store, mailFrom: Address, now: number): Promise<ServiceIdentity> {
  const domain = domainOf(mailFrom)
  if ((await dkimKeysOf(database.read, { workspaceId: SERVICE_WORKSPACE, domain })).length === 0) {
    await database.commit([await createServiceKey(domain, now, SERVICE_WORKSPACE)])
  }
  return {
    returnPathSecret: await ensureSecret(database, RETURN_PATH_SECRET),
    linkSecret: await ensureSecret(database, LINK_SECRET),
    smsSecret: await ensureSecret(database, SMS_SECRET),
  }
}

/** Creates the secret when there is none yet. */
async function ensureSecret({ commit, read }: Store, key: string): Promise<KeyObject> {
  await commit([initServiceState({ key, value: randomSecret(32).toString('base64') })])
  const secret = (await readServiceState(read, { key }))[0]?.value
  if (secret === undefined) throw new Error(`${key} is not in the database`)
  return createSecretKey(secret, 'base64')
}
