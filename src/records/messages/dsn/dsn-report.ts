/** The content of a delivery status notification, and the text functions that its parts share. */
import type { Address } from '../../../base/mail/address.js'
import type { DsnReturn } from '../../../base/mail/dsn-parameters.js'

/** `success` is for recipients that requested it. It means delivered, or relayed to a server that sends no reports. */
export type DsnKind = 'failed' | 'delayed' | 'success'

export interface DsnRecipient {
  readonly address: Address
  /** RFC 3461 ORCPT, decoded: `type;address`. */
  readonly orcpt: string | null
  readonly action: 'failed' | 'delayed' | 'delivered' | 'relayed'
  /** An enhanced status code such as `5.1.1`. */
  readonly status: string
  /** What happened, in one sentence. */
  readonly reason: string
  /** The last reply, or the local error if no server replied. */
  readonly diagnostic: string | null
  /** The host name of the server that gave `diagnostic`. Null if the text is ours. */
  readonly remoteMta: string | null
  readonly lastAttemptAt: number | null
  /** Set only for `delayed`. */
  readonly willRetryUntil: number | null
}

export interface DsnReport {
  readonly kind: DsnKind
  /** Our host name. */
  readonly reportingMta: string
  readonly arrivedAt: number
  /** RFC 3461 ENVID, decoded. */
  readonly envid: string | null
  readonly ret: DsnReturn | null
  /** The message that the report is about. */
  readonly original: Buffer
  readonly recipients: readonly DsnRecipient[]
}

/**
 * Wraps words in lines of at most 76 characters, each with `indent`. A longer word has a whole line; a word over
 * 900 octets is cut.
 */
export function wrapText(text: string, indent: string): readonly string[] {
  const lines: string[] = []
  let line = ''
  for (const word of text.split(/\s+/).flatMap(splitLongWord)) {
    if (line !== '' && indent.length + line.length + 1 + word.length > 76) {
      lines.push(indent + line)
      line = ''
    }
    line = line === '' ? word : `${line} ${word}`
  }
  return line === '' ? lines : [...lines, indent + line]
}

function splitLongWord(word: string): readonly string[] {
  return Buffer.byteLength(word) <= 900 ? [word] : (word.match(/.{1,225}/gu) ?? [])
}
