/** Wires invitations, notices of the service to members, and the erasure of workspaces. */

import type { ReadSettings, StartSettings } from '../../base/config/live-config.js'
import type { Clock } from '../../base/platform/clock.js'
import type { Log } from '../../base/platform/log.js'
import type { Database } from '../../base/storage/db/database.js'
import { ErasureRunner } from '../../base/storage/maintenance/erasure-runner.js'
import type { Delivery } from '../../outbound/delivery/delivery.js'
import type { PasswordDeps } from '../../servers/api/account/password.js'
import type { ForwardRouteDeps } from '../../servers/api/domains/forwards.js'
import { createPasswordHasher } from '../../workspaces/accounts/people/passwords.js'
import { type AcceptDeps, AttemptLimits } from '../../workspaces/accounts/sessions/accept-invitation.js'
import { SessionCheck } from '../../workspaces/accounts/sessions/session-check.js'
import type { SessionTimes } from '../../workspaces/accounts/sessions/session-records.js'
import { SignInLimits } from '../../workspaces/accounts/sessions/sign-in-limits.js'
import type { ServiceIdentity } from '../../workspaces/domains/service-identity.js'
import { createAccountNotices } from '../notices/account-notice.js'
import { createForwardNotices } from '../notices/forward-notice.js'
import { NoticeWriter } from '../notices/notice-writer.js'
import { createPasswordMailer } from '../notices/password-notice.js'

interface PeopleDeps {
  readonly config: StartSettings
  readonly settings: ReadSettings
  readonly clock: Clock
  readonly log: Log
  readonly database: Database
  readonly identity: ServiceIdentity
  readonly delivery: Delivery
}

export interface People {
  readonly acceptDeps: AcceptDeps
  readonly accountDeps: PasswordDeps
  readonly sessions: SessionCheck
  readonly notices: NoticeWriter
  readonly erasures: ErasureRunner
  /** The mails that ask the addresses of forwarding rules. */
  readonly requestForwards: Pick<ForwardRouteDeps, 'buildRequests' | 'offer'>
  /** Begins to write notices, and resumes interrupted erasures. */
  readonly start: () => Promise<void>
  readonly stop: () => Promise<void>
}

export function wirePeople({ config, settings, clock, log, database, identity, delivery }: PeopleDeps): People {
  const { read, commit } = database
  const { hostname, mail_from: mailFrom, public_url: publicUrl } = config.service
  const secret = identity.linkSecret
  const passwords = createPasswordHasher()
  const sessionTimes = (): SessionTimes => {
    const { session_idle: idle, session_max: max } = settings().ui
    return { idle, max }
  }
  const offer: ConstructorParameters<typeof NoticeWriter>[0]['offer'] = (enqueued) => delivery.runner.offer(enqueued)
  const mailing = { read, commit, publicUrl, hostname, mailFrom, offer }
  const notices = new NoticeWriter({ ...mailing, clock, log, secret })
  const erasing = new ErasureRunner({ database, log, onPassEnd: () => delivery.runner.wake() })
  return {
    acceptDeps: { read, commit, secret, passwords, attempts: new AttemptLimits() },
    accountDeps: {
      ...{ read, commit, passwords, attempts: new SignInLimits(), names: { hostname, publicUrl }, sessionTimes },
      provedPasswords: createPasswordHasher(),
      sendPasswordLink: createPasswordMailer(mailing),
      prepareNotice: createAccountNotices(mailing),
    },
    sessions: new SessionCheck({ read, commit, clock, sessionTimes }),
    notices,
    erasures: erasing,
    requestForwards: { buildRequests: createForwardNotices({ ...mailing, secret }), offer },
    start: async () => {
      notices.start()
      await erasing.start()
    },
    stop: async () => {
      await Promise.all([notices.stop(), erasing.stop()])
    },
  }
}
