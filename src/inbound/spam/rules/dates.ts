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
  { name: 'NO_DATE', weight: 1, description: 'no Date', test: (facts) => firstFieldOf(facts, 'date') === '' },
  {
    name: 'DATE_UNREADABLE',
    weight: 2.3,
    description: 'an invalid Date',
    test: (facts) => firstFieldOf(facts, 'date') !== '' && parseMessageDate(firstFieldOf(facts, 'date')) === null,
  },
  {
    name: 'DATE_ODD_ZONE',
    weight: 1.6,
    description: 'a Date in a time zone that does not exist',
    test: (facts) => {
      const zone = /\d\d:\d\d(?::\d\d)?\s+([+-]?)(\d{2,4})\b/.exec(firstFieldOf(facts, 'date'))
      if (zone === null) return false
      return zone[1] === '' || !/^(?:0\d|1[0-4])(?:00|15|30|45)$/.test(zone[2] ?? '')
    },
  },
  {
    name: 'DATE_AHEAD',
    weight: 1.9,
    description: 'dated hours after its receipt',
    test: (facts) => hoursAhead(facts) > 3 && hoursAhead(facts) <= 48,
  },
  {
    name: 'DATE_FAR_AHEAD',
    weight: 2.5,
    description: 'dated days after its receipt',
    test: (facts) => hoursAhead(facts) > 48,
  },
  {
    name: 'DATE_LATE',
    weight: 0.5,
    description: 'dated half a day before its receipt',
    test: (facts) => hoursAhead(facts) < -12 && hoursAhead(facts) >= -96,
  },
  {
    name: 'DATE_FAR_LATE',
    weight: 1.4,
    description: 'dated days before its receipt',
    test: (facts) => hoursAhead(facts) < -96,
  },
]
