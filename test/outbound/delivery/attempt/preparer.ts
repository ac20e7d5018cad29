/** A preparer of messages over a test's database. */
import { createSecretKey } from 'node:crypto'
import type { Test } from 'tap'
import type { Database } from '../../../../src/base/storage/db/database.js'
import { MessagePreparer } from '../../../../src/outbound/delivery/attempt/message-preparer.js'
import type { MessageCache } from '../../../../src/outbound/delivery/queue/message-cache.js'
import { SigningKeyCache } from '../../../../src/workspaces/domains/dkim/signing-keys.js'
import { SigningThread } from '../../../../src/workspaces/domains/dkim/signing-thread.js'
import { ownOwners } from '../../../helpers/free-pace.js'

/** With a signing thread, which ends with the test. */
export function preparerOf(
  t: Test,
  read: Database['read'],
  messageCache: MessageCache,
  signing: Pick<SigningThread, 'sign'> = threadOf(t),
  signingKeys = new SigningKeyCache(read),
): MessagePreparer {
  return new MessagePreparer({
    ...{ read, signing, signingKeys, messageCache },
    owners: ownOwners,
    secret: createSecretKey(Buffer.alloc(32)),
  })
}

/** Ends with the test. */
export function threadOf(t: Test): SigningThread {
  const signing = new SigningThread()
  t.teardown(() => signing.stop())
  return signing
}
