/**
 * Has a message authenticated on a thread. A small one is analyzed there too, unless it was being read when the daemon
 * crashed (`early-analyzer.ts`).
 */
import type { Authentication, Connection } from '../../../base/mail/authentication-results.js'
import type { Header } from '../../../base/mail/header-fields.js'
import type { MessageBytes } from '../../../base/storage/db/message-bytes.js'
import type { EarlyAnalyzer } from '../analysis/early-analyzer.js'
import type { OnlyMail } from '../recipients/copy-plan.js'
import type { CheckedMessage } from './message-thread.js'
import type { MessageThreads } from './message-threads.js'

interface AuthenticatorDeps {
  readonly threads: Pick<MessageThreads, 'authenticate'>
  readonly early: Pick<EarlyAnalyzer, 'guardMessage'>
  /** If it is absent, nothing is measured. */
  readonly onAuthenticated?: ((results: Authentication) => void) | undefined
}

export class GuardedAuthenticator {
  constructor(private readonly deps: AuthenticatorDeps) {}

  /**
   * `asked` is the only copy of a small message, and asks for its stored form. Nothing else may read the bytes until it
   * settles. Rejects with a `Refusal` if the message cannot be checked.
   */
  async authenticate(
    bytes: MessageBytes,
    header: Header,
    connection: Connection,
    asked: OnlyMail | null,
  ): Promise<CheckedMessage> {
    const checked = await this.check(bytes, header, connection, asked)
    this.deps.onAuthenticated?.(checked.authentication)
    return checked
  }

  private async check(...[bytes, header, connection, asked]: Parameters<GuardedAuthenticator['authenticate']>) {
    const { threads, early } = this.deps
    if (asked === null) return threads.authenticate(bytes, header, connection, null)
    const guard = early.guardMessage(bytes.read(), asked.workspaceId)
    if (guard.isFeared) return threads.authenticate(bytes, header, connection, null)
    guard.begin()
    return threads.authenticate(bytes, header, connection, asked.trace).finally(() => guard.finish())
  }
}
