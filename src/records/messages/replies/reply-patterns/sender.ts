/** Replies about the sender: authentication, reverse DNS, the sender address, relaying. */
import type { ReplyPattern } from './pattern.js'

export const patternsOfSender: readonly ReplyPattern[] = [
  {
    // RFC 3463 X.1.7 and X.1.8, RFC 7505 X.7.27: whatever does not exist belongs to the sender.
    reason: 'sender-rejected',
    texts: [/^(?!.{0,200}\b(recipient|rcpt|user unknown|mailbox))/i],
    when: { statuses: ['1.7', '1.8'] },
  },
  { reason: 'sender-rejected', texts: [/\b(sender|mail from|return path)\b.{0,40}null ?mx/i] },
  {
    // This precedes all rows about mailboxes, because Exim quotes "No Such User Here" of the *sender's* server.
    reason: 'sender-rejected',
    texts: [
      /sender verif|verif\w{1,30} failed for/i,
      /call-?(out|back)\b.{0,40}(fail|verif|setup)/i,
      /return (address|path).{0,30}(invalid|unknown|not)/i,
      /(invalid|no|missing) dns (mx|a|record)|\bfrom:? (address |domain |header )?.{0,20}\b(is )?(invalid|not valid|does not exist)/i,
    ],
  },
  {
    reason: 'authentication',
    texts: [
      /\b(dmarc|dkim|domainkeys)\b.{0,80}(fail|reject|polic|not pass|did not|does not|verif|invalid|missing|requir)/i,
      /\b(fail|reject|violat|due to|per)\w{0,20}.{0,60}\b(dmarc|dkim)\b(?!-sig)/i,
      /\bspf\b.{0,80}(fail|reject|record|not pass|does not|den(y|ied)|polic|invalid|unauthori[sz]ed|check|setting)/i,
      /\b(fail|reject|violat|due to)\w{0,20}.{0,60}\bspf\b|spf\.pobox\.com|openspf|sender policy framework/i,
      /\bunauthenticated\b|authentication checks? fail|does not have authentication information/i,
      /required authentication level|p=(Unauthenticated|Dmarc)|anti-?spoof|spoof(ed|ing)|\bMI:SPF\b/i,
      /not (allowed|authori[sz]ed|permitted) to send (mail |messages |e-?mail )?(from|for|on behalf)/i,
      /purported responsible address/i,
    ],
  },
  {
    reason: 'reverse-dns',
    texts: [
      /\b(reverse|rdns|ptr)\b.{0,60}(dns|record|look-?up|host|fail|invalid|missing|match|resol|requir|entry)/i,
      /\b(no|missing|invalid|bad|without|fix|generic) (valid |proper )?(rdns|ptr|reverse)\b/i,
      /cannot find your (reverse )?host ?name|unable to resolve your (ip|host|client)/i,
      /\b(helo|ehlo)\b.{0,60}(reject|invalid|not|requir|mismatch|bad|forg|must|resolv)/i,
      /ip name (possibly forged|lookup failed)|forward.?confirmed|client (host )?name.{0,30}(not found|unknown)/i,
    ],
  },
  {
    reason: 'relay-denied',
    texts: [
      /\brelay(ing)?( access| operation)?( is| was| mail)? (denied|not (permitted|allowed)|prohibit|reject|refus)/i,
      /not (permitted|allowed|authori[sz]ed|configured) to (send mail |)relay/i,
      /(unable|refuse|cannot|can't|don't|do not|does not|won't)( to)? ?(mail )?relay/i,
      /no relaying|insecure mail relay|not an open relay|relay rejected|rcpthosts/i,
      /requires authentication when attempting to send to a non-local|not (a )?local (recipient )?domain/i,
      /not one of our domains|domain is not (hosted|handled|served) (here|by)|identities failed the check/i,
      /(do not|don.t|does not|not) (handle|host|serve|accept|receive|take) (e-?mail |mail |messages )?(for )?(this|that|the|your) (recipient )?domain/i,
      /\b(tenant ?attribution|open relay|third.?party relay|not a gateway)\b/i,
    ],
  },
  {
    reason: 'sender-rejected',
    texts: [
      /\bsender\b.{0,60}(reject|den(y|ied)|refus|invalid|not (exist|allowed|accept|found|permitted|valid)|unverified|unknown)/i,
      /domain of (the )?sender|badmailfrom|envelope blocked|\bMI:SPB\b|to\/from an address that has been/i,
      /(reject|refus|blocked|invalid|unknown|bad|null|empty)\w{0,20} (\w{1,30} ){0,2}senders?\b/i,
      /(mail|envelope) ?from\b(?!.{0,20}(\d{1,3}\.\d{1,3}\.|\bip\b)).{0,40}(reject|denied|not|invalid|refus|must)/i,
    ],
  },
  {
    reason: 'sender-rejected',
    texts: [/domain .{0,80}does not (exist|resolve)/i],
    when: { stages: ['mail'] },
  },
]
