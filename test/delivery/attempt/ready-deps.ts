/** What `prepareMessage` needs, over a test's database. */
import { createSecretKey } from 'node:crypto'
import type { Test } from 'tap'
import type { MessageCache } from '../../../src/delivery/attempt/message-cache.js'
import type { ReadyDeps } from '../../../src/delivery/attempt/ready-message.js'
import { createSigningKeyCache } from '../../../src/domains/dkim/signing-keys.js'
import { SigningThread } from '../../../src/domains/dkim/signing-thread.js'
import type { Database } from '../../../src/storage/database.js'
import { ownOwners } from '../../helpers/free-pace.js'

/** With a signing thread, which ends with the test. */
export function readyDeps(t: Test, read: Database['read'], messageCache: MessageCache): ReadyDeps {
  const signing = new SigningThread()
  t.teardown(() => signing.stop())
  const signBytes: ReadyDeps['signBytes'] = (raw, key, now) => signing.sign(raw, key, now)
  return {
    read,
    signingKeys: createSigningKeyCache({ read }),
    signBytes,
    messageCache,
    owners: ownOwners,
    secret: createSecretKey(Buffer.alloc(32)),
  }
}
