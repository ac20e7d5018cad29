/** Wires invitations, notices of the service to members, and the erasure of workspaces. */
import { type AcceptDeps, createAttemptLimits } from '../accounts/people/accept-invitation.js'
import { createPasswordHasher } from '../accounts/people/passwords.js'
import type { Config } from '../config/complete.js'
import type { ServiceIdentity } from '../domains/service-identity.js'
import { NoticeWriter } from '../notices/notice-writer.js'
import type { Clock } from '../platform/clock.js'
import type { Log } from '../platform/log.js'
import type { Database } from '../storage/database.js'
import { createErasureRunner, type ErasureRunner } from '../storage/maintenance/erasure-runner.js'
import type { Delivery } from './delivery.js'

interface PeopleDeps {
  readonly config: Config
  readonly clock: Clock
  readonly log: Log
  readonly database: Database
  readonly identity: ServiceIdentity
  readonly delivery: Delivery
}

export interface People {
  readonly acceptDeps: AcceptDeps
  readonly notices: Pick<NoticeWriter, 'wake'>
  readonly erasures: Pick<ErasureRunner, 'begin'>
  /** Begins to write notices, and resumes interrupted erasures. */
  readonly start: () => void
  readonly stop: () => Promise<void>
}

export function wirePeople({ config, clock, log, database, identity, delivery }: PeopleDeps): People {
  const { read, commit } = database
  const { hostname, mail_from: mailFrom, public_url: publicUrl } = config.service
  const secret = identity.linkSecret
  const notices = new NoticeWriter({
    read,
    commit,
    clock,
    log,
    secret,
    publicUrl,
    hostname,
    mailFrom,
    offer: (enqueued, raw) => delivery.runner.offer(enqueued, raw),
  })
  const erasing = createErasureRunner({ database, log, onPassEnd: () => delivery.runner.wake() })
  return {
    acceptDeps: { read, commit, secret, passwords: createPasswordHasher(), attempts: createAttemptLimits() },
    notices,
    erasures: erasing,
    start: () => {
      notices.start()
      erasing.start()
    },
    stop: async () => {
      await Promise.all([notices.stop(), erasing.stop()])
    },
  }
}
