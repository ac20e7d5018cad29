/**
 * The Generic Test for Unsolicited Bulk Email (GTUBE): a line that every filter takes for spam, for testing
 * filters.
 */
import type { SpamRule } from './spam-rule.js'

/** It is in pieces, so that mail containing this source does not match. */
const gtubeLine = ['XJS*C4JDBQADN1.NSBN3*2IDNEN', 'GTUBE-STANDARD-ANTI-UBE-TEST-EMAIL', 'C.34X'].join('*')

export const gtubeRules: readonly SpamRule[] = [
  {
    name: 'GTUBE',
    weight: 1_000,
    description: 'the message contains the GTUBE test line for spam filters',
    test: ({ message, html }) => (message.text ?? '').includes(gtubeLine) || html.visibleText.includes(gtubeLine),
  },
]
