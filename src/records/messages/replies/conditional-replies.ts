/**
 * Finds phrases that limit a refusal about a mailbox to the present moment, to this sender or to this message. The
 * mailbox may accept the next message, so its address is not suppressed.
 *
 * The phrases are deliberately broad: a false match costs one more attempt to a dead address.
 */
const MAX_TEXT = 2_048

const conditionalPatterns: readonly RegExp[] = [
  // Phrases that limit the refusal to the present moment.
  /\btemporar|\b(try|retry)( it| again)? later\b|\bagain later\b|\bmaintenance\b|\bfor (now|the moment)\b/i,
  /\bnot .{0,20}\b(yet|now|at this time)\b|\b(messages?|e-?mails?|mail) (right )?now\b|\b(on|during) (a )?(vacation|holidays?|weekends?)\b/i,
  /\b(locked|in use|opened) by\b|\blimited\b|\bquota\b|\bover disk\b|\bgr[ae]y-? ?list/i,
  // Phrases that limit the refusal to this sender.
  /\bpolic(y|ies)\b|\b(white|allow|safe|accept|permit)(ed)?[ -]?list|\ballowed (senders?|addresses)\b/i,
  /\blist of (\w{1,20} )?(allowed|permitted|accepted|known|senders)\b|\b(from|to) (the )?(outside|external)\b/i,
  /\b(external|outside|unknown) (senders?|mail|e-?mail)\b|\b(dkim|dmarc|spf)\b/i,
  // Phrases that limit the refusal to this message.
  /\bvirus|\btoo (large|big)\b|\blarger than\b/i,
]

export function isConditional(words: string): boolean {
  const text = words.slice(0, MAX_TEXT)
  return conditionalPatterns.some((condition) => condition.test(text))
}
