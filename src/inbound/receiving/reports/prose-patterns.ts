/**
 * Patterns of bounces in prose: how the programs and providers of the world begin them.
 *
 * Each row is a family: any of `opens` in the report's own text (before the returned message) makes the message a
 * bounce, with the class of the row if it has one. Rows hold complete phrases of their program, never single
 * words, so that personal mail does not match. The first matching row wins: delays stand first.
 *
 * Patterns see at most 16 KB of text with single blanks, and contain no nested repetition.
 */
import type { Reason } from '../../../base/mail/reasons.js'

export interface BounceFamily {
  readonly family: string
  readonly opens: readonly RegExp[]
  readonly kind?: 'permanent' | 'temporary' | 'delayed'
  /** Other mail contains it too. It is a bounce only if a mail system sent it, or if its subject is one of a bounce. */
  readonly loose?: true
  /** Used if neither a code nor the text says more. */
  readonly reason?: Reason
}

export const bounceFamilies: readonly BounceFamily[] = [
  {
    family: 'still tried',
    loose: true,
    kind: 'delayed',
    opens: [
      /this is a warning message only/i,
      /you do not need to resend your message/i,
      /(message|delivery)\b.{0,120}\b(has been|is|was) delayed/i,
      /(has|have) not (yet )?been delivered( yet)?\b.{0,200}\b(will be|still be|continue|keep|tried)/i,
      /(message|delivery|we|server|attempts?|system)\b.{0,60}\bwill (be re-?tried|be retried|keep trying|continue (to try|trying|to be made))/i,
      /temporary (error|failure|problem)\b.{0,120}\bwill (be )?(retr|try|keep|continue)/i,
      /delivery attempts will continue/i,
    ],
  },
  {
    family: 'Google Groups',
    loose: true,
    reason: 'policy',
    opens: [
      /https?:\/\/\S{0,40}groups\.google\.com\/(a\/\S{1,80}\/)?support|support\.google\.com\/a\/\S{1,80}\/bin\/topic/i,
    ],
  },
  {
    family: 'qmail and its kin',
    opens: [
      /this is the qmail-send program/i,
      /i.m afraid i wasn.t able to deliver your message/i,
      /this is a permanent error; i.ve given up/i,
      /sorry, we were unable to deliver your message to the following address/i,
      /i (was|am) (not able|unable) to deliver your (message|mail)/i,
    ],
  },
  {
    family: 'Exim',
    opens: [
      /this message was created automatically by (the )?(mail delivery software|mail system|smtp relay)/i,
      /a message that you (have )?sent could not be delivered to (one or more|all) of/i,
      /could not be delivered to (one or more|all) of its recipients/i,
      /a message that you sent (contained|had) (one or more|no) recipient addresses/i,
    ],
  },
  {
    family: 'sendmail',
    opens: [
      /the following addresses had (permanent|transient|delivery|temporary)[\w -]{0,30}(errors|problems)/i,
      /-{3} ?transcript of (the )?session follows/i,
      /-{3} ?the following address(es)? (had|has|failed)/i,
      /-{3} ?(non-delivered information|unsent message follows)/i,
    ],
  },
  {
    family: 'Postfix',
    opens: [
      /this is the (mail system at host|\S{1,40} program at host|mail delivery agent)/i,
      /your message could not be delivered to (one or more|the following) recipients/i,
    ],
  },
  {
    family: 'Exchange and Outlook',
    loose: true,
    opens: [
      /did not reach the following recipient/i,
      /your message did not reach (some|any|all)\b.{0,40}recipients/i,
      /delivery has failed to these recipients/i,
      /your message (to \S{1,200} )?(couldn.t|could not|can.t|wasn.t|was not) (be )?delivered/i,
      /diagnostic information for administrators|generating server:/i,
      /message delivery to the following recipient\S{0,3} (failed|has been)/i,
    ],
  },
  {
    family: 'Domino and Notes',
    loose: true,
    opens: [
      /-{3} ?failure reasons? ?-{3}/i,
      /your (document|message):? .{0,400}(was|could) not (be )?delivered to/i,
      /lotus (notes|domino).{0,80}(non-?delivery|deliver)/i,
    ],
  },
  {
    family: 'IMail',
    opens: [
      /^\W{0,40}(user mailbox exceeds allowed size|unknown user|invalid final delivery userid|unknown host|delivery failed \d{1,9} attempts):/i,
      /(unknown user|user mailbox exceeds allowed size|invalid final delivery userid): \S{1,80}@/i,
    ],
  },
  {
    family: 'MDaemon',
    loose: true,
    opens: [
      /the following (data|message) (may|has|had|was|could).{0,80}(undeliver|not (be )?delivered)/i,
      /-{1,3} session transcript|your message has encountered delivery problems/i,
    ],
  },
  {
    family: 'Courier',
    loose: true,
    opens: [
      /this is a delivery status notification from/i,
      /the original message was received on .{0,120}(undeliverable|your message|delivery)/i,
      /undeliverable mail\b.{0,60}(your message|the following|could not)/i,
    ],
  },
  {
    family: 'DragonFly',
    opens: [/there was an error delivering your (mail|message) to/i],
  },
  {
    family: 'OpenSMTPD',
    opens: [/hi! this is the mailer-daemon|an error has occurred while attempting to deliver a message/i],
  },
  {
    family: 'smail and zmailer',
    loose: true,
    opens: [
      /-{3} ?(failed addresses|addresses? follow)|failed addresses follow/i,
      /this is a collection of reports about e-?mail delivery/i,
      /your message was not delivered to:/i,
    ],
  },
  {
    family: 'Google',
    loose: true,
    opens: [
      /delivery to the following recipients? (failed|has failed|was aborted)/i,
      /technical details of (permanent|temporary) failure/i,
      /your message wasn.t delivered to|address not found|message (not delivered|blocked) your message/i,
    ],
  },
  {
    family: 'Yahoo, GMX, Zoho',
    loose: true,
    opens: [
      /sorry, (your message|we (were|are) (un|not )able)\b.{0,120}(delivered|deliver)/i,
      /this message was created automatically by mail delivery/i,
      /(unable|not able) to deliver (your|the|this|a) (message|mail|e-?mail)/i,
    ],
  },
  {
    family: 'Amazon and cloud relays',
    loose: true,
    opens: [
      /an error occurred while trying to deliver the (mail|message)/i,
      /the following (message|e-?mail) (to|could|was|has) .{0,200}(undeliver|not (be )?deliver|bounced|failed)/i,
    ],
  },
  {
    family: 'Apache James',
    loose: true,
    opens: [/this is the james mail server|error message below:|^\W{0,40}\[bounce\]/i],
  },
  {
    family: 'mobile gateways and filters',
    loose: true,
    opens: [
      /message could not be delivered to mobile/i,
      /no valid recipients for this mm\b/i,
      /we had trouble delivering your message/i,
      /following recipients were affected/i,
      /failed to deliver the following message|following error message below/i,
    ],
  },
  {
    family: 'KDDI',
    opens: [/could not be delivered to: <\S{1,200}@\S{1,200}> as their mailbox/i],
  },
  {
    family: 'gateways and filters',
    loose: true,
    opens: [
      /(unable to deliver|could not deliver|cannot deliver|failed to deliver) (message|mail|e-?mail|your|the|this)/i,
      /could not be delivered to:? ?<?\S{1,80}@/i,
      /(your|the|this) (message|mail|e-?mail)\b.{0,200}\b(could not be|was not|cannot be|can not be|couldn.t be|has not been|were not) (successfully )?(delivered|sent)/i,
      /delivery (failed|has failed|failure)\b.{0,40}(for|to|reason|following|permanent)/i,
      /mail delivery failed|message delivery has failed|(is|was|are) undeliverable/i,
      /-{3} ?(server message|smtp command|reason for failure|original message follows)/i,
      /failed recipients?:|the following recipients?( \S{1,40}){0,6} (failed|rejected|could not)/i,
      /your (mail|message) (to|for) .{0,200}(was|has been) (rejected|refused|bounced|returned)/i,
    ],
  },
  {
    family: 'in other words',
    loose: true,
    opens: [
      /以下のメールアドレスへの送信に失敗|送信できませんでした|配信できませんでした|(宛先|あて先).{0,40}(不明|存在)|エラー通知/,
      /la entrega.{0,40}(ha fallado|falló)|no se ha podido entregar|no se pudo entregar/i,
      /(konnte|kann) nicht (an .{0,80})?(zugestellt|ausgeliefert) werden|unzustellbar/i,
      /n.a pas (pu être|été) (remis|distribu|délivr|livr)|échec de la remise/i,
      /не может быть доставлено|не удалось доставить|não (foi possível entregar|pôde ser entregue)/i,
      /impossibile recapitare|non è stato (possibile )?(recapit|consegn)|(recapito|consegna) non riuscit[oa]/i,
      /\bniet (worden )?(bezorgd|afgeleverd)|falha na entrega|leveransen misslyckades|kunde inte levereras/i,
      /kunne ikke leveres|levering(en)? (mislyktes|mislykkedes)|teslim edilemedi/i,
      /dostarczenie .{0,80}nie powiodło się|nie można dostarczyć|nepodařilo se doručit|doručení .{0,80}(selhalo|se nezdařilo)/i,
    ],
  },
]

/** Senders that are mail systems. */
export const daemonSender =
  /\b(mailer-?daemon|post[-_]?master|mail-?daemon|mail delivery (sub)?system|mail administrator|bounces?|mdaemon)\b|<>\s*$/i

/** Subjects of bounces. They suffice to read the text as a bounce if a mail system sent it. */
export const bounceSubject =
  /undeliver|returned mail|^\W{0,3}bounced?\b|deliver\w{0,20} (status|fail|problem|err|delay)|fail\w{0,20} (notice|deliver)|non-?deliver|mail (error|deliver|fail)|(could not|cannot|unable to|(has|was) not|(was|has)n.t|not) (be |been )?(successfully )?(deliver|send|sent|relay|receiv|reach|accept)|(message|mail) status|エラー|配信|不達|unzustellbar|failure/i

/** Subjects of warnings while delivery is still tried. */
export const delaySubject = /\bdelay(ed|ing)?\b|\bwarning\b|\bstill (being )?(tried|trying|queued)\b|verzögert/i

/** Subjects of success reports. They are no bounces, unless the text quotes a refusal. */
export const successSubject =
  /\b(success(ful(ly)?)?|relayed|(was|been|message) (delivered|relayed|received)|delivery receipt)\b/i

/** The line that begins the returned message, or its header. */
export const returnedMessageMarks: readonly RegExp[] = [
  /^[\s>|*=_-]{0,80}(begin |start of )?(the |your )?(original|returned|undelivered|unsent|bounced|rejected) (message|mail|text|e-?mail)\b/i,
  /\b(is|below is|included is|follows?) a copy of (the|your) (original )?(message|mail|header)/i,
  /^[\s>*=-]{0,80}(the )?(message|mail) (text|headers?|body)( text)? follows?/i,
  /(headers? of (the|your) (original )?message|message headers?|original message)\W{0,3}(follows?|is following|below|:)?\W{0,10}$/i,
  /^(received|return-path|x-received|dkim-signature|arc-seal|x-original-to|delivered-to) ?:/i,
]

/** Patterns that occur in reports only and name the reason if `classify-reply` has none. */
export const proseReasons: readonly { readonly reason: Reason; readonly texts: readonly RegExp[] }[] = [
  {
    reason: 'mailbox-full',
    texts: [
      /number of messages in (the )?recipient.s mailbox exceeded/i,
      /mailbox is full|exceeds allowed size|storage (quota|space)|quota exceeded/i,
      /メールボックスが(一杯|いっぱい)|容量.{0,20}(超|一杯)/,
    ],
  },
  {
    reason: 'bad-mailbox',
    texts: [
      /(recipient|user) name is not recogni[sz]ed|invalid final delivery userid/i,
      /not listed in (the )?(domino|public|name|address|directory)|(address|account).{0,40}(not found|unable to receive)/i,
      /ディレクトリのリストにありません|(宛先|メールアドレス|ユーザー?).{0,20}(存在し|不明|見つかり)/,
    ],
  },
  {
    reason: 'bad-domain',
    texts: [/dns lookup failure|host \S{1,80} not found|domain.{0,40}(not found|couldn.t be found)|unknown host/i],
  },
  {
    reason: 'expired',
    texts: [
      /delivery failed \d{1,9} attempts|too many (delivery )?attempts|giving up|retry (limit|time)|queue too long|expired/i,
    ],
  },
]
