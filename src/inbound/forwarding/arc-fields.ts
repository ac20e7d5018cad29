/**
 * The ARC set that a forwarded message gets (RFC 8617), so that the servers of the targets see what it proved when it
 * came to us, even if its envelope no longer does.
 *
 * A chain that failed is not continued, nor one that DNS gave no answer about or that is full. The results are those of
 * the Authentication-Results field that we wrote when the message was accepted.
 */

import type { Authentication } from '../../base/mail/authentication-results.js'
import { findFields, type Header, readFieldValue } from '../../base/mail/header-fields.js'
import { countArcSets, MAX_ARC_SETS } from '../../workspaces/domains/dkim/arc-seal.js'
import type { DkimKey } from '../../workspaces/domains/dkim/sign.js'
import type { SigningThread } from '../../workspaces/domains/dkim/signing-thread.js'

interface SealedMessage {
  readonly raw: Buffer
  readonly header: Header
  readonly arc: Authentication['arc'] | undefined
}

/** Octets of our results that are sealed. */
const MAX_RESULTS = 65_536

/** The fields with their CRLF. Empty if the message gets none. */
export async function buildArcFields(
  signing: Pick<SigningThread, 'seal'>,
  key: DkimKey | undefined,
  { raw, header, arc }: SealedMessage,
  now: number,
): Promise<string> {
  const [results] = findFields(header, 'authentication-results')
  if (key === undefined || results === undefined) return ''
  const validation = arc?.result ?? 'fail'
  if (validation !== 'pass' && validation !== 'none') return ''
  // If a chain was not verified, neither the number nor the size of its fields is known.
  const seals = findFields(header, 'arc-seal').length
  if (validation === 'none' ? seals > 0 : seals >= MAX_ARC_SETS) return ''
  const sets = countArcSets(raw, header)
  return signing.seal(raw, key, now, {
    instance: sets + 1,
    validation,
    results: readFieldValue(raw, results, MAX_RESULTS),
  })
}
