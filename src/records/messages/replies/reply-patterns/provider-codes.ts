/**
 * Codes that providers and programs put into their text, with the published meaning. They precede all phrases:
 * `AUP#CDRBL` explains a "sender rejected" beside it.
 */
import type { ReplyPattern } from './pattern.js'

export const providerCodes: readonly ReplyPattern[] = [
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
