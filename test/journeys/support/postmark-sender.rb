# Sends with Postmark's library for Ruby, and prints what it answers and raises as a line of JSON. The first argument is
# the port of the service on this machine, the second the key. The template `welcome` is there, and `gone@b.test` and
# `away@b.test` are suppressed.

require "json"
require "mail"
require "postmark"

port, key = ARGV
options = { host: "localhost", port: port.to_i }
client = Postmark::ApiClient.new(key, **options)

def describe
  yield
  { name: "nothing was raised" }
rescue Postmark::Error => error
  recipients = error.recipients if error.respond_to?(:recipients)
  { name: error.class.name, code: error.parsed_body["ErrorCode"], message: error.message, recipients: recipients }
end

message = Mail.new(charset: "UTF-8") do
  from "App <app@a.test>"
  to "Bob <mail@b.test>"
  cc "cc@b.test"
  subject "Rechnung für März ☂"
  text_part do
    content_type "text/plain; charset=UTF-8"
    body "Grüße"
  end
  html_part do
    content_type "text/html; charset=UTF-8"
    body "<p>Grüße</p>"
  end
  add_file filename: "bill.txt", content: "99.00"
end
message.tag = "welcome"
message.metadata = { order: 5 }
message.track_opens = "false"
message["X-Own"] = "1"

def plain(to)
  { from: "app@a.test", to: to, subject: "batch", text_body: "a line" }
end

answers = {
  mail: client.deliver_message(message)[:message_id],
  batch: client.deliver_in_batches([plain("one@b.test"), plain("bad"), plain("two@b.test")]),
  template: client.deliver_with_template(from: "app@a.test", to: "template@b.test", template_alias: "welcome", template_model: { name: "One" })
}
errors = {
  key: describe { Postmark::ApiClient.new("ph_#{"x" * 43}", **options).deliver(plain("bob@b.test")) },
  sender: describe { client.deliver(plain("bob@b.test").merge(from: "app@elsewhere.test")) },
  address: describe { client.deliver(plain("nobody")) },
  suppressed: describe { client.deliver(plain("gone@b.test, away@b.test")) }
}
puts JSON.generate(answers: answers, errors: errors)
