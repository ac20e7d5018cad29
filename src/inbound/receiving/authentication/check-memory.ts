/** The memory that the checks of one message leave for the next ones of the same thread; all of it is bounded. */
import type { DmarcVerdict, IprevVerdict } from '../../../base/mail/authentication-results.js'
import { type AnswerMemo, createAnswerMemo } from './answer-memo.js'
import type { SpfFinding } from './check-spf.js'
import { createParsedKeys, type ParsedKeys } from './parsed-keys.js'

export interface CheckMemory {
  readonly keys: ParsedKeys
  readonly spf: AnswerMemo<SpfFinding>
  /** Remembers that the records of an author were found, or are known to be absent. */
  readonly dmarcRecords: AnswerMemo<true>
  readonly dmarc: AnswerMemo<DmarcVerdict>
  readonly iprev: AnswerMemo<IprevVerdict>
}

export function createCheckMemory(): CheckMemory {
  const isLasting = ({ result }: { readonly result: string }): boolean => result !== 'temperror'
  return {
    keys: createParsedKeys(),
    spf: createAnswerMemo(({ reasonParts }) => reasonParts !== null),
    dmarcRecords: createAnswerMemo(() => true),
    dmarc: createAnswerMemo<DmarcVerdict>(isLasting),
    iprev: createAnswerMemo<IprevVerdict>(isLasting),
  }
}
