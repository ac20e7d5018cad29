/** A tool cannot do what it was asked. The model gets the message, which says what is wrong and how to correct it. */
export class ToolRefusal extends Error {
  override name = 'ToolRefusal'
}
