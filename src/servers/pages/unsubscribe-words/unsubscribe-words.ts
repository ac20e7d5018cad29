/**
 * The sentences of the page of an unsubscribe link. `{address}` is the masked address of the recipient, and `{sender}` is
 * the sender of the message.
 */

/** `mail` is about all mail of an organization, `broadcasts` about its broadcasts to a list. */
interface ByScope {
  readonly mail: string
  readonly broadcasts: string
}

interface Said {
  readonly title: string
  readonly text: ByScope
}

export interface UnsubscribeWords {
  readonly unknownSender: string
  readonly asks: Said
  readonly button: string
  readonly ifNothing: string
  readonly done: Said
  readonly doneBefore: Said
  readonly undone: Said
  readonly stays: Said
  readonly mistake: string
  readonly undoButton: string
  readonly tooLate: string
}
