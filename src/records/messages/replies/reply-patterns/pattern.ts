/** One row of the table that `reply-patterns` reads from top to bottom. */
import type { Reason } from '../../../../base/mail/reasons.js'
import type { Stage } from '../../../../base/mail/reply.js'

export interface ReplyPattern {
  readonly reason: Reason
  /** At least one of these matches the text of the reply. */
  readonly texts: readonly RegExp[]
  /** Further conditions, all of which must hold. */
  readonly when?: {
    readonly codes?: readonly number[]
    /** The prefix of the enhanced code without its class, such as `7.1`. */
    readonly status?: string
    /** The reply has one of these enhanced codes, which are complete except for their class. */
    readonly statuses?: readonly string[]
    readonly stages?: readonly Stage[]
  }
  /** The provider sends 5xx for a temporary problem, so the message is tried again. */
  readonly temporary?: true
}
