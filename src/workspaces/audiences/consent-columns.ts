/**
 * Finds what a file of contacts says about consent: which columns speak of it, by the names that the exports of
 * other services use, and what their cells mean. Pure.
 *
 * No contact who unsubscribed is imported as subscribed. If a column seems to speak of consent and its values are
 * not known, the whole file is refused. If a value is not known, its line is refused. If several columns speak of
 * consent, one "no" decides. Columns about other channels (SMS, push) and moments of consent are data.
 */

/**
 * `subscribed`: a cell says yes or no, and an empty cell says nothing. `consent` is the same, but an empty cell
 * means that there is no consent. `unsubscribed`: every value except a "no" unsubscribes. `state` is the state of an
 * address or of a contact.
 */
export type ConsentKind = 'subscribed' | 'consent' | 'unsubscribed' | 'state'

/**
 * `data` means that the column speaks of something else. `unclear` means that it seems to speak of consent, but that
 * its values are not known.
 */
export function consentKindOf(name: string): ConsentKind | 'data' | 'unclear' | null {
  const squeezed = squeeze(name)
  if (otherChannel.test(squeezed) && !squeezed.includes('email')) return 'data'
  if (squeezed === 'state') return 'state'
  if (negativeName.test(squeezed) || withdrawnName.test(squeezed)) return isFigure(name) ? 'data' : 'unsubscribed'
  if (statusNames.has(squeezed)) return 'subscribed'
  if (!positiveStem.test(squeezed)) return null
  if (isDetail(name, squeezed)) return 'data'
  if (subscribedName.test(squeezed) || subscriptionStatus.test(squeezed)) return 'subscribed'
  return consentName.test(squeezed) ? 'consent' : 'unclear'
}

const otherChannel =
  /sms|mms|whatsapp|viber|push|phone|mobile|call|fax|telegram|facebook|messenger|postal|directmail|totrack/

/**
 * The exports of Mailchimp, Brevo, Mailjet, HubSpot, Constant Contact, AWeber, Salesforce, Mautic, Intercom and
 * phpList use these names.
 */
const negativeName =
  /unsub|opt(?:ed|ing|s)?out|bl[ao]cklist|^(?:is|email)?blocked|suppress|donot(?:e?mail|contact|market|send|disturb)|^dnc|dnc$|hardbounce|bouncedhard|^(?:is|email)?bounced?(?:at|on|date|time|reason)?$|complain|markedemailasspam|markedasspam|spamreport|^clean(?:ed|time|campaign)|excludedfrom|^stop(?:time|status|date)|emaildisabled|^(?:is)?disabled|deactivated|^(?:is)?(?:deleted|removed)(?:at|on|date|time)?$|^(?:is)?excluded?$|^(?:is)?inactive$|suspend|ineligible|badaddress|(?:non|not|never)subscri|quarantined|^(?:is)?banned|unconfirmed|optinpending|^invalidemail|emailinvalid/

/** Names for consent that was taken back, and words of other languages. */
const withdrawnName =
  /(?:consent|permission|gdpr|optin)[a-z]{0,12}(?:revok|withdr|denied|declin|reject|object)|(?:revok|withdr|denied|declin)[a-z]{0,12}(?:consent|permission)|abgemeldet|abmeld|abbestell|desinscri|desabonn|dadodebaja|^(?:fechade)?baja|disiscri|uitgeschreven|afgemeld|descadastr/

const positiveStem =
  /subscri(?:be(?!r(?:id|name|key|since|email)?$)|ption)|opt(?:ed|s)?in(?!g|t(?!o))|consent|legalbasis|lawfulbasis|einwillig|zustimm|consenso|toestemm|abonniert|angemeldet|suscrito|iscritto|gdpr|newsletter|mailinglist|marketing(?:status|contact|e?mail|permission|preference|consent)|acceptsmarketing|emailmarketing|emailpreference|permission|receives?(?:marketing)?e?mail/

const subscribedName =
  /^(?:is|email|contact|member|list|mailing|newsletter|marketing|globally)*subscribed(?:to(?:the)?(?:e?mails?|newsletters?|list|marketing|updates))?$/
const subscriptionStatus =
  /(?:(?:subscription|subscriber|subscribed|newsletter|mailing|mailinglist|marketing|marketingcontact)(?:status|state)|permissionstatus|^emailsubscribe)$/
const consentName =
  /^(?:e?mail|contact|user|marketing|is|has|double|single|confirmed|newsletter)*opt(?:ed|s)?in(?:status|state)?(?:(?:to|for)?(?:the)?(?:e?mails?|newsletters?|marketing))?$|^(?:e?mail)?(?:marketing)?canreceive(?:e?mail)?(?:marketing)?$|^(?:e?mail|newsletter)*(?:einwilligung|zustimmung|consentement|consenso|consentimiento|toestemming)$|accepts(?:e?mail)?marketing(?:e?mails?)?$|^(?:e?mail|marketing|gdpr|eu|contact|user|has|newsletter)*consent(?:ed|given|status|state)?$|^(?:e?mail|marketing|gdpr|contact)*permissions?$|newsletter$|^gdpr$|^emailmarketing$|receives?(?:marketing)?e?mails?$/

/** Names that exports use for the state of a contact, although the words do not mention consent. */
const statusNames: ReadonlySet<string> = new Set([
  ...['status', 'emailstatus', 'emailchannelstatus', 'contactstatus', 'memberstatus', 'recipientstatus', 'userstatus'],
  ...['liststatus', 'globalstatus', 'mailchimpstatus', 'mailingstatus', 'statut', 'active', 'isactive', 'emailactive'],
  ...['enabled', 'isenabled', 'confirmed', 'isconfirmed', 'emailconfirmed', 'abonne', 'inscrit', 'aangemeld'],
  ...['angemeldet', 'abonniert', 'newsletterangemeldet', 'newsletterabonniert', 'suscrito', 'iscritto'],
  ...['mailable', 'ismailable', 'emailable', 'contactable', 'iscontactable', 'reachable', 'emailok', 'canemail'],
  ...['canbecontacted', 'canbeemailed', 'oktoemail', 'oktocontact', 'allowemail', 'allowsemail', 'allowemails'],
  ...['emailallowed', 'sendemails', 'wantsemails', 'marketing', 'allowsmarketing', 'marketingallowed', 'marketingok'],
])

/** Recognises text and numbers that every contact has. */
function isFigure(name: string): boolean {
  return figureWords.has(lastWordOf(name)) || /(?:url|link|token|hash)$/.test(squeeze(name))
}

const figureWords: ReadonlySet<string> = new Set(['url', 'link', 'token', 'hash', 'key', 'count', 'rate'])

/**
 * Tells whether a column only says when, where or how consent was given, or what is paid for. Such a column does not
 * say whether there is consent now.
 */
function isDetail(name: string, squeezed: string): boolean {
  return (
    detailWords.has(lastWordOf(name)) ||
    /^date(?:of)?(?:subscri|opt|consent|confirm)|(?:subscribed|optedin|optin|consented)(?:at|on|time|date|ip)$/.test(
      squeezed,
    )
  )
}

const detailWords: ReadonlySet<string> = new Set([
  ...['at', 'on', 'time', 'date', 'timestamp', 'ip', 'address', 'source', 'method', 'form', 'page', 'text', 'version'],
  ...['id', 'uuid', 'plan', 'tier', 'level', 'price', 'amount', 'number', 'name', 'since', 'expires', 'expiry'],
  ...['country', 'notes', 'updated', 'changed', 'am', 'datum', 'fecha', ...figureWords],
])

/** A name in camelCase has several words, too. */
function lastWordOf(name: string): string {
  const words = name.replace(/([a-z])(?=[A-Z])/g, '$1 ').split(/[^\p{L}\p{N}]+/u)
  return words.findLast((word) => word !== '')?.toLowerCase() ?? ''
}

/** Keeps only letters and digits, in lower case and without accents. */
function squeeze(text: string): string {
  return text
    .normalize('NFKD')
    .toLowerCase()
    .replace(/[^\p{L}\p{N}]+/gu, '')
}

const yesWords = ['true', 't', 'yes', 'y', '1', 'on', 'ja', 'oui', 'si', 'sim', 'wahr', 'vrai', 'verdadero', 'vero']
const noWords = ['false', 'f', 'no', 'n', '0', 'off', 'nein', 'non', 'nao', 'nee', 'falsch', 'faux', 'falso']
const emptyWords = ['', 'null', 'none', 'never', 'na']
const subscribedWords = ['subscribed', 'active', 'optedin', 'optin', 'in', 'sub', 'ok', 'contactable']

const affirmations: ReadonlySet<string> = new Set([
  ...yesWords,
  ...subscribedWords,
  ...['resubscribed', 'activated', 'enabled', 'confirmed', 'confirmedoptin', 'singleoptin', 'doubleoptin', 'verified'],
  ...['granted', 'given', 'accepted', 'agreed', 'consented', 'express', 'explicit', 'implied', 'allowed', 'checked'],
  ...[
    'marketingcontact',
    'email',
    'normal',
    'engaged',
    'angemeldet',
    'abonniert',
    'abonne',
    'inscrit',
    'suscrito',
    'iscritto',
  ],
])

/** `2` to `4` are ActiveCampaign's unsubscribed and bounced, and Brevo's "no" of a double opt-in. */
const refusals: ReadonlySet<string> = new Set([
  ...noWords,
  ...['2', '3', '4', 'none', 'never', 'unknown', 'unspecified', 'transactional', 'junk', 'abuse', 'abused', 'invalid'],
  ...[
    'undeliverable',
    'undelivered',
    'held',
    'error',
    'expired',
    'excluded',
    'quarantined',
    'cold',
    'unengaged',
    'out',
  ],
  ...['nopermissionsset', 'nopermission', 'nonmarketingcontact', 'notmarketingcontact', 'dnc', 'banned', 'paused'],
  ...[
    'abgemeldet',
    'desabonne',
    'desinscrit',
    'disiscritto',
    'temphold',
    'notset',
    'notgiven',
    'notgranted',
    'validating',
  ],
])

/**
 * The beginning of a refusal, such as "Unsubscribed by admin", "Hard bounced" and "awaiting confirmation". What
 * follows it does not matter.
 */
const refusalStart =
  /^(?:unsub|(?:un|non?|not|never|nicht)(?:subscri|confirm|verif|opt|activ|consent|permission|bestat)|(?:hard|soft)?bounc|complain|spam|markedasspam|opt(?:ed)?out|bl[ao]cklist|blocked|suppress|clean|cancel|delet|remov|donot|awaiting|pending|confirmationpending|optinpending|inactiv|disabled|deactivat|reject|declin|denied|refus|revok|withdr|archiv)/

const otherChannels: ReadonlySet<string> = new Set(['sms', 'web', 'mobile', 'directmail', 'push', 'whatsapp', 'phone'])

/**
 * What a cell means. True means subscribed. Null means that the cell says nothing, and undefined that its value is
 * not known.
 */
export function readConsent(kind: ConsentKind, name: string, text: string): boolean | null | undefined {
  const word = squeeze(text)
  if (kind === 'state') return isPlainRefusal(text) || stateRefusals.has(word) ? false : null
  if (kind === 'unsubscribed')
    return readUnsubscribed(/^(?:is)?unsubscribed$|^optedout$/.test(squeeze(name)), word, text)
  return readWord(word) ?? readList(text)
}

/** Values of `State` at Kit and Campaign Monitor. None of them is a state of a country. */
const stateRefusals: ReadonlySet<string> = new Set([
  'cancelled',
  'canceled',
  'inactive',
  'deleted',
  'unconfirmed',
  'cold',
])

/**
 * Moments, reasons and names of campaigns count as "yes". With `speaks`, a "no" says that the contact is subscribed.
 */
function readUnsubscribed(speaks: boolean, word: string, text: string): boolean | null {
  if (emptyWords.includes(word) || /^0000/.test(text.trim())) return null
  return noWords.includes(word) || subscribedWords.includes(word) ? speaks || null : false
}

function readWord(word: string): boolean | undefined {
  if (affirmations.has(word)) return true
  return refusals.has(word) || refusalStart.test(word) ? false : undefined
}

/**
 * Reads a list of channels or of states, such as `["email","sms"]`. One refusal decides, and a list of channels
 * without email is a refusal.
 */
function readList(text: string): boolean | undefined {
  const words = text
    .split(/[^\p{L}\p{N}\s_-]+/u)
    .map(squeeze)
    .filter((word) => word !== '')
  const answers = words.filter((word) => !otherChannels.has(word)).map(readWord)
  if (words.length === 0 || answers.includes(undefined)) return
  return answers.length > 0 && !answers.includes(false)
}

/** Recognises a cell that can hardly mean anything but a refusal, in any column. */
export function isPlainRefusal(text: string): boolean {
  return plainRefusal.test(squeeze(text))
}

const plainRefusal =
  /^(?:unsub(?:scribed?)?|neversubscribed|nonsubscribed|(?:hard|soft)?bounced?|complained|spamcomplaint|markedasspam|opt(?:ed)?out|bl[ao]cklisted|suppressed|donot(?:e?mail|contact)|abgemeldet|desabonnee?|desinscrite?|dad[oa]debaja|uitgeschreven)$/

/** Joins the answers of all columns of a line. Null means that no column says anything. */
export function joinAnswers(answers: readonly (boolean | null)[]): boolean | null {
  if (answers.includes(false)) return false
  return answers.includes(true) ? true : null
}
