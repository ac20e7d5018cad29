/** The memory that the checks of one message leave for the next ones of the same thread; all of it is bounded. */
import type { DmarcVerdict, IprevVerdict } from '../../../base/mail/authentication-results.js'
import { AnswerMemo } from './answer-memo.js'
import type { SpfFinding } from './check-spf.js'
import { createParsedKeys } from './parsed-keys.js'

const isLasting = ({ result }: { readonly result: string }): boolean => result !== 'temperror'

export class CheckMemory {
  readonly keys = createParsedKeys()
  readonly spf = new AnswerMemo<SpfFinding>(({ reasonParts }) => reasonParts !== null)
  /** Remembers that the records of an author were found, or are known to be absent. */
  readonly dmarcRecords = new AnswerMemo<true>(() => true)
  readonly dmarc = new AnswerMemo<DmarcVerdict>(isLasting)
  readonly iprev = new AnswerMemo<IprevVerdict>(isLasting)
}
