/** Replies that ask us to come back later, or to slow down. */
import type { ReplyPattern } from './pattern.js'

export const patternsOfPace: readonly ReplyPattern[] = [
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
    // Slowed down because of our reputation, not because of the pace.
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
