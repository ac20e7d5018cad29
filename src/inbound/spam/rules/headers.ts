/** Rules on header fields: their values, and those that are missing. */
import { freeMailDomains } from '../facts/host-kinds.js'
import { countFields, firstFieldOf, type SpamFacts } from '../facts/spam-facts.js'
import { registeredDomainOf } from '../facts/url-facts.js'
import type { SpamRule } from './spam-rule.js'

const bareSubjectOf = ({ message }: SpamFacts): string =>
  message.subject.replace(/^(?:\s*(?:re|fwd?|aw|\[[^\]]*\])\s*:?\s*)+/i, '')

const singleFields = ['from', 'to', 'subject', 'date', 'message-id', 'reply-to', 'cc']

function replyOrganizationOf({ message }: SpamFacts): string | null {
  const address = message.replyTo.find((box) => box.address !== null)?.address
  return address === undefined || address === null
    ? null
    : registeredDomainOf(address.slice(address.lastIndexOf('@') + 1))
}

/** The display name of a recipient is its local part, as programs fill it in. */
function hasRecipientInSubject({ message }: SpamFacts): boolean {
  const subject = message.subject.toLowerCase()
  return message.to.slice(0, 20).some(({ address }) => {
    const local = address?.slice(0, address.lastIndexOf('@')).toLowerCase() ?? ''
    if (local.length < 4 || !subject.includes(local)) return false
    return new RegExp(`(?:^|\\s)${local.replace(/[^a-z0-9]/g, '\\$&')}(?:@|[,:!]|$)`).test(subject)
  })
}

/**
 * Entries of From that have their names read. Entries without an address count too, because programs show them as if
 * they were authors.
 */
const MAX_NAMES = 5

function namesAddressElsewhere(name: string, author: NonNullable<SpamFacts['author']>): boolean {
  const domain = /[^\s@<>"']@([a-z0-9.-]+\.[a-z]{2,})/i.exec(name)?.[1]
  return domain !== undefined && registeredDomainOf(domain.toLowerCase()) !== author.organization
}

export const headerRules: readonly SpamRule[] = [
  {
    name: 'NO_SUBJECT',
    weight: 0.8,
    description: 'the message has no subject',
    test: ({ message }) => message.subject.trim() === '',
  },
  {
    name: 'NO_MESSAGE_ID',
    weight: 1,
    description: 'the message has no Message-ID',
    test: (facts) => firstFieldOf(facts, 'message-id') === '',
  },
  {
    name: 'ODD_MESSAGE_ID',
    weight: 1.2,
    description: 'the Message-ID has a form that no mail program writes',
    test: (facts) => {
      const id = firstFieldOf(facts, 'message-id')
      return id !== '' && !/^<[^\s<>@]+@[^\s<>@a-z0-9\]]*[a-z0-9\]][^\s<>@]*>/i.test(id)
    },
  },
  {
    name: 'NO_AUTHOR',
    weight: 2,
    description: 'From contains no address',
    test: ({ author }) => author === null,
  },
  {
    name: 'NO_RECIPIENT',
    weight: 1.6,
    description: 'the message has neither To nor Cc',
    test: (facts) => firstFieldOf(facts, 'to') === '' && firstFieldOf(facts, 'cc') === '',
  },
  {
    name: 'UNREADABLE_RECIPIENT',
    weight: 0.9,
    description: 'To contains no address',
    test: (facts) =>
      firstFieldOf(facts, 'to') !== '' &&
      facts.message.to.every(({ address }) => address === null) &&
      !/^[^@]*:\s*;?$/.test(firstFieldOf(facts, 'to')),
  },
  {
    name: 'UNDISCLOSED',
    weight: 0.9,
    description: 'To has a placeholder instead of the recipients',
    test: (facts) => {
      const to = firstFieldOf(facts, 'to')
      return !to.includes('@') && /^"?[\w\s-]*(?:undisclosed|suppressed|unlisted|recipient)/i.test(to)
    },
  },
  {
    name: 'REPEATED_FIELDS',
    weight: 1,
    description: 'a header field that may occur once is repeated',
    test: (facts) => singleFields.some((name) => countFields(facts, name) > 1),
  },
  {
    name: 'SUBJECT_SHOUTS',
    weight: 1.8,
    description: 'the subject is in capitals',
    test: (facts) => {
      const subject = bareSubjectOf(facts)
      return /\s/.test(subject.trim()) && (subject.match(/[A-Z]/g)?.length ?? 0) > 8 && !/[a-z]/.test(subject)
    },
  },
  {
    name: 'SUBJECT_EXCLAIMS',
    weight: 1.3,
    description: 'the subject ends with an exclamation mark',
    test: ({ message }) => /!\s*(?:\S{1,20})?$/.test(message.subject),
  },
  {
    name: 'SUBJECT_EXCLAIMS_MUCH',
    weight: 1.1,
    description: 'the subject has several exclamation marks',
    test: ({ message }) => /![^!]{0,100}!|\?!/.test(message.subject),
  },
  {
    name: 'SUBJECT_MONEY',
    weight: 1.3,
    description: 'the subject has an amount of money',
    test: ({ message }) => /[$€£]\s?\d|\d\s?[€£]|\$\$/.test(message.subject),
  },
  {
    name: 'SUBJECT_PERCENT',
    weight: 0.7,
    description: 'the subject has a percentage',
    test: ({ message }) => /\d\s?%/.test(message.subject),
  },
  {
    name: 'SUBJECT_TAIL',
    weight: 1.9,
    description: 'the subject has a text after many blanks',
    test: ({ message }) => /\S\s{5,}\S{1,30}$/.test(message.subject),
  },
  {
    name: 'SUBJECT_SPACED',
    weight: 1,
    description: 'the subject has a word with spaces between its letters',
    test: ({ message }) => /(?:^|\s)(?:[a-z][\s._*-]){4,}[a-z](?:\s|$)/i.test(message.subject),
  },
  {
    name: 'SUBJECT_NAMES_RECIPIENT',
    weight: 1.5,
    description: "the subject contains the recipient's address or its local part",
    test: hasRecipientInSubject,
  },
  {
    name: 'SUBJECT_AD',
    weight: 2.1,
    description: 'the subject is marked as advertising',
    test: ({ message }) => /^\W{0,3}adv?(?:ert\w*)?\W*:|\(광고\)|\(광 ?고\)|\badv\b:/i.test(message.subject),
  },
  {
    name: 'SUBJECT_OFFER',
    weight: 1.6,
    description: 'the subject has words of an offer, of savings or of urgency',
    test: ({ message }) =>
      /\b(?:free|save|offer|cheap|lowest|discount|guarantee\w*|winner|win|earn|income|cash|credit|debt|mortgage|loans?|rates|limited|urgent\w*|act now|congratulations?|prize|lose weight|singles|hot|sexy?|viagra|casino|insurance|approved|opportunity|business|investment|proposal|fortune|millions?|degrees?|diploma|inkjet|toner|refinanc\w+|prescription|pharmacy|weight|herbal|wealth|profits?|money)\b/i.test(
        message.subject,
      ),
  },
  {
    name: 'FALSE_REPLY',
    weight: 1.2,
    description: 'the subject begins with Re:, but the message answers no other message',
    test: (facts) =>
      /^\s*re(?:\[\d+\])?:/i.test(facts.message.subject) &&
      firstFieldOf(facts, 'in-reply-to') === '' &&
      firstFieldOf(facts, 'references') === '' &&
      !/^[>|]|wrote:|schrieb/m.test(facts.body),
  },
  {
    name: 'AUTHOR_DIGITS',
    weight: 1.3,
    description: "the author's address has many digits",
    test: ({ author }) => author !== null && author.local.length < 24 && /\d{4}|(?:\d[a-z]+){3}/i.test(author.local),
  },
  {
    name: 'AUTHOR_RANDOM',
    weight: 1.3,
    description: "the author's address has digits between letters, or letters that cannot be pronounced",
    test: ({ author }) =>
      author !== null && author.local.length < 24 && /[a-z]\d+[a-z]+\d|[bcdfghjklmnpqrstvwxz]{6}/i.test(author.local),
  },
  {
    name: 'AUTHOR_NAME_IS_OTHER_ADDRESS',
    weight: 2,
    description: "the author's name is an address of another organization",
    test: ({ author, message }) =>
      author !== null && message.from.slice(0, MAX_NAMES).some(({ name }) => namesAddressElsewhere(name, author)),
  },
  {
    name: 'AUTHOR_NAME_SHOUTS',
    weight: 0.6,
    description: "the author's name has exclamation marks or words of an offer",
    test: ({ author }) =>
      /[!$]|\b(?:free|offers?|deals?|save|savings|loans?|mortgage|rewards?|promotions?|specials|winner)\b/i.test(
        author?.name ?? '',
      ),
  },
  {
    name: 'AUTHOR_IS_RECIPIENT',
    weight: 1.1,
    description: "the author's address is also a recipient",
    test: ({ author, message }) => author !== null && message.to.some(({ address }) => address === author.address),
  },
  {
    name: 'FREE_MAIL_AUTHOR',
    weight: 0.6,
    description: 'the author has a mailbox at a free provider',
    test: ({ author }) => author !== null && freeMailDomains.has(author.domain),
  },
  {
    name: 'REPLY_TO_FREE_MAIL',
    weight: 1.2,
    description: 'replies go to a mailbox at a free provider, which the author does not use',
    test: (facts) => {
      const reply = replyOrganizationOf(facts)
      return reply !== null && freeMailDomains.has(reply) && reply !== facts.author?.organization
    },
  },
  {
    name: 'REPLY_TO_ELSEWHERE',
    weight: 0.3,
    description: 'replies go to another organization than the author',
    test: (facts) => {
      const reply = replyOrganizationOf(facts)
      return (
        reply !== null &&
        facts.author !== null &&
        reply !== facts.author.organization &&
        firstFieldOf(facts, 'list-id') === ''
      )
    },
  },
  {
    name: 'MANY_RECIPIENTS',
    weight: 1,
    description: 'the message names more than ten recipients',
    test: ({ message }) => message.to.length > 10,
  },
  {
    name: 'HIGH_PRIORITY',
    weight: 1,
    description: 'the message is marked as urgent',
    test: (facts) =>
      /^\s*1/.test(firstFieldOf(facts, 'x-priority')) || /^\s*high/i.test(firstFieldOf(facts, 'importance')),
  },
  {
    name: 'NO_MIME_VERSION',
    weight: 1.1,
    description: 'the message has a Content-Type but no MIME-Version',
    test: (facts) =>
      firstFieldOf(facts, 'content-type') !== '' &&
      firstFieldOf(facts, 'mime-version') === '' &&
      facts.message.html !== null,
  },
  {
    name: 'ANSWER_IN_THREAD',
    weight: -1.5,
    description: 'the message answers another message and quotes it',
    test: (facts) =>
      (firstFieldOf(facts, 'in-reply-to') !== '' || firstFieldOf(facts, 'references') !== '') &&
      /^\s?[>|]/m.test(facts.body),
  },
]
