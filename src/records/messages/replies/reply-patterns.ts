/**
 * Decides what the text of a refusal means, by an ordered table: the first match wins.
 *
 * Text beats codes, which are misused far more often: 550 5.7.1 is used for full mailboxes, unknown users and
 * blocklists alike. The order is a safety property: rows that blame us (address, sender, authentication, pace)
 * precede rows that blame the mailbox, because only the latter suppress an address, and a server that blocks us
 * often says "mailbox unavailable" in the same reply. Two groups come before both: codes that a provider has
 * published, and full mailboxes, whose words also occur in replies about pace.
 *
 * Patterns see at most 2 KB of text with mail addresses replaced by `<>`. They contain no nested repetition. Known
 * limit: English, plus a few phrases of the other languages in which large providers reply.
 */
import type { Stage } from '../../../base/mail/reply.js'
import type { ReplyPattern } from './reply-patterns/pattern.js'
import { patternsOfFullMailbox, patternsOfRecipient } from './reply-patterns/recipient.js'
import { patternsOfSender } from './reply-patterns/sender.js'
import { patternsOfServer } from './reply-patterns/server.js'

/** Replies about our address, our domain or this message: blocklists, reputation, spam. */
const patternsOfReputation: readonly ReplyPattern[] = [
  // A block list of links concerns the message.
  { reason: 'spam-content', texts: [/black-?list\w{0,20} (url|link)|\bs?ur(i?)bl\b|listed (url|link)/i] },
  {
    reason: 'spam-block',
    texts: [
      /black-? ?list|block-? ?list|deny-? ?list|\b(dns|r|s|x|z)?bl\b|\bd?nsbl\b/i,
      /spamhaus|spamcop|barracuda (central|reputation)|barracuda\S{1,80}\/reputation|sorbs|uceprotect|senderbase|abuseat/i,
      /ipcheck\.proofpoint|cloudmark|senderscore|sender\.office\.com|\breputation\b/i,
      /(?<!not )\blisted (in|on|by|at) |\b(is|are) (on|in) (a|an|our|the|their|your) (\w{1,20} )?(list|database)\b|\b(dns|ip|abuse) list/i,
      /\b(mail|messages?|connections?|e-?mail|access|traffic)\b.{0,20} from (the )?(host |ip |address |server |network )?\W?\d{1,3}\.\d{1,3}\.\S{1,12}.{0,60}(reject|block|den(y|ied)|refus|not accept|banned|weren.t)/i,
      /banned (sending|sender|ip)|invalid ip for sending mail|bad (ip|sender) score/i,
      /\b(ip|host|network|domain|server|client)( \S{1,80}){0,3} (\w{1,30} )?(blocked|banned)\b/i,
      /\bblocked (ip|sender|by (rbl|our)|using)|access from ip address|(part of )?their network is on/i,
      /dynamic(ally assigned)? ?\/? ?(ip|address|range)|\bzombie/i,
      /client host .{0,80}(rejected|blocked)|refused to talk|not accepting connections|access denied\.\.\./i,
      /your (access|ip|host|mail ?server|network)\b.{0,60}(reject|block|denied|refus|banned)/i,
      /(connection|client|host|server)s? (\S{1,80} ){0,3}(rejected|refused|denied|forbidden) (due|for|because|by)/i,
      /use the (smtp server|mail ?server|smarthost) of your (isp|provider)|mail from \d\S{1,80} (refused|rejected|blocked)/i,
      // T-Online, NetEase, AOL, La Poste.
      /\((BL|NOWL)\)|\bHL:(REP|IPB|ISB)\b|\((RTR|DYN|CON|RLY|SCBL)\S{0,4}:|service refused?\b/i,
    ],
  },
  // Gmail refuses messages of wrong form with a text about spam.
  { reason: 'content', texts: [/not rfc ?\d{1,9} compliant/i] },
  {
    reason: 'spam-content',
    texts: [
      /\b(spam|junk|ube|uce|unsolicited|phishing)\b/i,
      /spam(my|iness|assassin)|classified as bulk|\bDT:SPM\b|\(HV[UL]:|\b(OFR|LPN\d{0,9})_506\b/i,
    ],
  },
]

/**
 * Codes that providers and programs put into their text, with the published meaning. They precede all phrases:
 * `AUP#CDRBL` explains a "sender rejected" in the same reply.
 */
const providerCodes: readonly ReplyPattern[] = [
  {
    // Microsoft Exchange: component, part, condition.
    reason: 'bad-mailbox',
    texts: [/\bRESOLVER\.ADR\.(Ex)?Recip(ient)?NotFound\b|\bRecip(ient)?NotFound\b|\bNoSuchUser\b/],
  },
  { reason: 'too-large', texts: [/\bRecipSizeLimit\b|\bSendSizeLimit\b|OverAdvertisedSizeLimit|\bclass=size\b/i] },
  { reason: 'mailbox-full', texts: [/\bQuotaExceeded(Exception)?\b|\bOverQuota(Temp|Perm)?\b/] },
  {
    reason: 'mailbox-disabled',
    texts: [/\bAccountDisabled(Exception)?\b|\bMailboxDisabled(Exception)?\b|\bDisabledUser\b/],
  },
  { reason: 'bad-domain', texts: [/\bSMTPSEND\.DNS\.NonExistentDomain\b|\bInfoDomainNonexistent\b/] },
  { reason: 'routing-loop', texts: [/\bSMTPSEND\.DNS\.MxLoopback\b|\bROUTING\.RoutingLoop/] },
  { reason: 'expired', texts: [/\bQUEUE\.Expired\b/] },
  { reason: 'content', texts: [/\bBareLinefeedsAreIllegal\b|\bCAT\.InvalidContent/] },
  { reason: 'smtputf8-unsupported', texts: [/\bSMTPSEND\.Utf8/] },
  { reason: 'sender-rejected', texts: [/\bSendAsDenied\b/] },
  {
    reason: 'policy',
    texts: [/\bTRANSPORT\.RULES\.RejectMessage\b|\bRESOLVER\.RST\.\w{0,40}(Auth|Restrict)|\bAPPROVAL\./i],
  },
  // Yahoo; Comcast; Cox; Microsoft's consumer mail; AOL.
  { reason: 'greylisted', texts: [/\[GL\d\d\]/], temporary: true },
  { reason: 'policy', texts: [/\[PH\d\d\]/] },
  { reason: 'reverse-dns', texts: [/\b(RTR:RD|DNS:NR|DNS:B\d)\b|\bAUP#(CX)?R?DNS\b|\bMI:NHD\b/] },
  { reason: 'spam-content', texts: [/\bAUP#\w{0,4}URLBL\d{0,4}\b|\bHV[UL]:\w/] },
  {
    reason: 'spam-block',
    texts: [
      /\[TSS?\d\d\]|\[BL\d\d\]|\b(RP|SC|DY|OU|CS)-00\d\b|\bS(3140|3150|775)\b/,
      /\b(RTR|DYN|CON|RLY|SCBL):[A-Z]\w{0,3}\b/,
      /\b(BL|ES)0{2,4}[01]{1,4}\b|\bAUP#\w{0,4}(RBL|CXBL|IPBL\d{0,4}|BL)\b/,
    ],
  },
  { reason: 'rate-limited', texts: [/\bRL0{2,4}\d{1,4}\b|\bAUP#(CXCNCT|CXMXRT|CXTHRT)\b/] },
  { reason: 'sender-rejected', texts: [/\bAUP#CXSNDR\b|\bMI:(SPB|IMF)\b/] },
  // Facebook: place, class, number.
  { reason: 'bad-mailbox', texts: [/\bRCP-P1\b/] },
  { reason: 'sender-rejected', texts: [/\bDNS-P[1-3]\b/] },
  { reason: 'spam-block', texts: [/\bPOL-P[1-3]\b/] },
  { reason: 'authentication', texts: [/\bPOL-P7\b/] },
  { reason: 'policy', texts: [/\bPOL-P\d\b|\bRCP-P2\b/] },
  { reason: 'rate-limited', texts: [/\b(CON|POL)-T\d\b/] },
  { reason: 'remote-error', texts: [/\bINT-[PT]\d\b/] },
  { reason: 'spam-content', texts: [/\bMCSpamSignature\b/] },
  // Orange and La Poste; NetEase.
  { reason: 'bad-mailbox', texts: [/\b(OFR|LPN)\d{0,4}_416\b/] },
  { reason: 'mailbox-full', texts: [/\b(OFR|LPN)\d{0,4}_417\b/] },
  { reason: 'sender-rejected', texts: [/\b(OFR|LPN)\d{0,4}_40[2-5]\b/] },
  { reason: 'spam-content', texts: [/\b(OFR|LPN)\d{0,4}_506\b/] },
  { reason: 'authentication', texts: [/\bLPN\d{0,4}_517\b/] },
]

/** Replies that ask us to come back later, or to slow down. */
const patternsOfPace: readonly ReplyPattern[] = [
  // Greylisting is temporary by definition, even as 550 or 554.
  { reason: 'greylisted', texts: [/gr[ae]y-? ?list/i], temporary: true },
  {
    reason: 'greylisted',
    texts: [
      // Mimecast, Yandex, and others.
      /internal resources? (is|are) temporarily unavailable/i,
      /please come back later/i,
      /(new|unknown|first[- ]time) sender.{0,40}\b(again|later|retry)/i,
    ],
    when: { codes: [421, 450, 451, 452] },
  },
  {
    // We are slowed down because of our reputation, not because of the pace.
    reason: 'spam-block',
    texts: [
      /(rate.?limited|deferred|delayed|throttled).{0,80}(reputation|complaint|unsolicited)/i,
      /unusual rate of unsolicited/i,
    ],
  },
  {
    // QQ answers 550 for as long as a frequency limit lasts.
    reason: 'rate-limited',
    texts: [/\b(ip|domain|sender|connection|user) frequency (is )?limited/i],
    temporary: true,
  },
  {
    // RFC 5321 section 4.5.3.1.10: 552 for too many recipients is to be treated as 452.
    reason: 'rate-limited',
    texts: [/too many recipients/i],
    when: { codes: [552] },
    temporary: true,
  },
  {
    reason: 'rate-limited',
    texts: [
      /\b(rate|frequency|volume|concurrency|connection|session) ?-?(is |was |has been )?(limit|control|exceed)/i,
      /\bratelimit|\bthrottl/i,
      /receiv\w{1,3} (mail|messages|e-?mail) (at a rate|too (quickly|fast))|temporarily deferred/i,
      /\b(sending|relay|(e-?)?mail|message|daily|hourly) (\w{1,30} )?(quota|limit|rate) .{0,12}exceed|\brate overlimit\b/i,
      /(exceed|reach)\w{0,20} .{0,40}\b(message|sending|relay|hourly|daily|connection|recipient) (rate|limit|quota|count)/i,
      /too (many|much) (\w{1,30} ){0,3}(connection|session|message|mail|recipient|e-?mail|error|request|command)/i,
      /too (many|much) (\w{1,30} ){0,2}(invalid|unknown|bad|failed|nonexist)/i,
      /(exceed|reach)\w{0,5} .{0,40}\b(per|an?|each) (second|minute|hour|day)\b/i,
      /excessive (unknown|connection|message|number)|mail ?flood|\bslow down\b/i,
      // NetEase, La Poste.
      /\bMI:(DMC|SFQ|STC)\b|\bRP:(CEL|CFC|QRC|RCL|TRC|DRC)\b|\bHL:(ITC|ICC|IFC)\b|\b(OFR|LPN\d{0,9})_10[3-5]\b/,
    ],
  },
]

/** Replies about the message itself: size, form, dangerous parts. */
const patternsOfContent: readonly ReplyPattern[] = [
  {
    reason: 'smtputf8-unsupported',
    texts: [/smtputf8|(non-?ascii|internationali[sz]ed|utf-?8) (address|mailbox|local|recipient|e-?mail)/i],
  },
  {
    reason: 'content',
    texts: [
      /\bheaders?\b.{0,40}(too (large|long|many)|missing|invalid|error|malformed|duplicate|syntax|illegal|improper)/i,
      /(missing|invalid|malformed|duplicated?|multiple|illegal|improper) .{0,40}\b(headers?|mime|message-id)\b/i,
      /rfc ?-?(2822|5322|2045|2047)\b|\b8-?bit data|bare (lf|cr|newline|line ?feed|carriage)|\bline (is )?too long/i,
      /\b(virus|malware|trojan|infected|worm|clamav)\b|potential\w{0,20} (security|harmful|dangerous)/i,
      /\b(content|attachment|file type|media|executable|macro)s?\b.{0,40}(reject|denied|block|prohibit|forbid|error)/i,
      /\b(content|attachment|file type|executable|macro)s?\b.{0,40}not (allowed|accept|permitted)/i,
      /(illegal|prohibited|banned|forbidden|dangerous|unsafe|blocked|disallowed) (attachment|content|file)|malformed (message|mail)/i,
    ],
  },
  {
    reason: 'too-large',
    texts: [
      /\b(message|mail|size|attachment|e-?mail|body|data)\b.{0,30} too (large|big)\b/i,
      /(too (large|big)|oversized?) (message|mail|e-?mail|body|attach)|databytes|larger than (\w{1,20} ){0,3}(max|allow|limit|size)/i,
      /\b(message|mail|e-?mail|size|body|attachment)\b.{0,40}exceed.{0,40}(size|limit|maximum|allowed)/i,
      /exceed.{0,40}(message|mail) size|(message|mail) (size|length) (limit|exceed)|\b(size|line) limit exceed|maximum (message |mail |e-?mail )?size exceed/i,
      /taille .{0,30}(maxim|limit|dépass)|nachricht .{0,20}zu (groß|gross)/i,
    ],
  },
]

const replyPatterns: readonly ReplyPattern[] = [
  ...providerCodes,
  ...patternsOfFullMailbox,
  ...patternsOfPace,
  ...patternsOfSender,
  ...patternsOfReputation,
  ...patternsOfRecipient,
  ...patternsOfContent,
  ...patternsOfServer,
]

interface ReplyWords {
  readonly stage: Stage
  readonly code: number
  /** An enhanced code such as `5.1.1`, or null. */
  readonly enhanced: string | null
  readonly text: string
}

/** Returns the first row that matches, or null. */
export function findPattern({ stage, code, enhanced, text }: ReplyWords): ReplyPattern | null {
  const words = normalizeText(text)
  const detail = enhanced?.slice(2) ?? ''
  const found = replyPatterns.find(({ when, texts }) => {
    if (when?.codes !== undefined && !when.codes.includes(code)) return false
    if (when?.stages !== undefined && !when.stages.includes(stage)) return false
    if (when?.status !== undefined && !detail.startsWith(when.status)) return false
    if (when?.statuses !== undefined && !when.statuses.includes(detail)) return false
    return texts.some((pattern) => pattern.test(words))
  })
  return found ?? null
}

/** Removes addresses, which contain unrelated words (`no-spam@…`), and codes at line starts, which split sentences. */
function normalizeText(text: string): string {
  return text
    .slice(0, 2048)
    .replace(/<?[^\s<>@]{1,320}@[^\s<>@]{1,255}>?/g, '<>')
    .replace(/\b[245]\d\d-(?:[245]\.\d{1,3}\.\d{1,3})?|#[245]\.\d{1,3}\.\d{1,3}/g, ' ')
    .replace(/\s+/g, ' ')
}
