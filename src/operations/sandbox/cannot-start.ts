/** The sandbox cannot start, for a reason that its user can fix: the message says how, in one line. */
export class CannotStart extends Error {
  override name = 'CannotStart'
}
