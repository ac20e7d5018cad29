/**
 * Rules on the Date field. It is compared with the time of receipt, never with the clock, so an old message keeps
 * its score when it is scored again.
 */
import { parseMessageDate } from '../../../base/mail/message-date.js'
import { HOUR } from '../../../base/platform/time-units.js'
import { firstFieldOf, type SpamFacts } from '../facts/spam-facts.js'
import type { SpamRule } from './spam-rule.js'

/** Hours between the Date field and the time of receipt. */
function hoursAhead(facts: SpamFacts): number {
  const written = parseMessageDate(firstFieldOf(facts, 'date'))
  return written === null ? 0 : (written - facts.message.receivedAt) / HOUR
}

export const dateRules: readonly SpamRule[] = [
  {
    name: 'NO_DATE',
    weight: 1,
    description: 'the message has no Date',
    test: (facts) => firstFieldOf(facts, 'date') === '',
  },
  {
    name: 'DATE_UNREADABLE',
    weight: 2.3,
    description: 'the Date is invalid',
    test: (facts) => firstFieldOf(facts, 'date') !== '' && parseMessageDate(firstFieldOf(facts, 'date')) === null,
  },
  {
    name: 'DATE_ODD_ZONE',
    weight: 1.6,
    description: 'the Date has a time zone that does not exist',
    test: (facts) => {
      const zone = /\d\d:\d\d(?::\d\d)?\s+([+-]?)(\d{2,4})\b/.exec(firstFieldOf(facts, 'date'))
      if (zone === null) return false
      return zone[1] === '' || !/^(?:0\d|1[0-4])(?:00|15|30|45)$/.test(zone[2] ?? '')
    },
  },
  {
    name: 'DATE_AHEAD',
    weight: 1.9,
    description: 'the Date is more than 3 hours after the time of receipt',
    test: (facts) => hoursAhead(facts) > 3 && hoursAhead(facts) <= 48,
  },
  {
    name: 'DATE_FAR_AHEAD',
    weight: 2.5,
    description: 'the Date is more than 2 days after the time of receipt',
    test: (facts) => hoursAhead(facts) > 48,
  },
  {
    name: 'DATE_LATE',
    weight: 0.5,
    description: 'the Date is more than 12 hours before the time of receipt',
    test: (facts) => hoursAhead(facts) < -12 && hoursAhead(facts) >= -96,
  },
  {
    name: 'DATE_FAR_LATE',
    weight: 1.4,
    description: 'the Date is more than 4 days before the time of receipt',
    test: (facts) => hoursAhead(facts) < -96,
  },
]
