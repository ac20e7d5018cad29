/** Replies about our address, our domain or this message: blocklists, reputation, spam. */
import type { ReplyPattern } from './pattern.js'

export const patternsOfReputation: readonly ReplyPattern[] = [
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
