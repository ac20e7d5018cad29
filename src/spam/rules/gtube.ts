/** The Generic Test for Unsolicited Bulk Email: a line that everybody's filter takes for spam, to test filters with. */
import type { SpamRule } from '../spam-rule.js'

/** In pieces, so that a mail with this source in it is not taken for the test itself. */
const gtubeLine = ['XJS*C4JDBQADN1.NSBN3*2IDNEN', 'GTUBE-STANDARD-ANTI-UBE-TEST-EMAIL', 'C.34X'].join('*')

export const gtubeRules: readonly SpamRule[] = [
  {
    name: 'GTUBE',
    weight: 1_000,
    description: 'the line by which spam filters are tested',
    test: ({ message, html }) => (message.text ?? '').includes(gtubeLine) || html.visibleText.includes(gtubeLine),
  },
]
