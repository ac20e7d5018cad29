/** One row of the table that `reply-patterns` reads from top to bottom. */
import type { Reason } from '../../../mail/reasons.js'
import type { Stage } from '../stage.js'

export interface ReplyPattern {
  readonly reason: Reason
  /** Any of these in the words of the reply. */
  readonly texts: readonly RegExp[]
  /** All that is named here must hold as well. */
  readonly when?: {
    readonly codes?: readonly number[]
    /** Prefix of the enhanced code without its class, as `7.1`. */
    readonly status?: string
    /** Any of these enhanced codes, whole, without their class. */
    readonly statuses?: readonly string[]
    readonly stages?: readonly Stage[]
  }
  /** The provider says 5xx of a matter that passes: try again all the same. */
  readonly temporary?: true
}
