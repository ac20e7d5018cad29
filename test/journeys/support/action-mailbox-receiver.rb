# Receives inbound mail with the ingresses of Rails' Action Mailbox on the given port, and prints each email as a line of
# JSON. The first argument is the port, the second an empty folder. The environment has the credentials of the ingresses.

require "json"
require "fileutils"
ENV["RAILS_ENV"] = "production"
folder = ARGV[1]
ENV["DATABASE_URL"] = "sqlite3:#{folder}/receiver.sqlite3"

require "rails"
require "active_record/railtie"
require "active_storage/engine"
require "action_controller/railtie"
require "action_mailbox/engine"
require "rack/handler/webrick"

class Receiver < Rails::Application
  config.root = ARGV[1]
  config.eager_load = false
  config.secret_key_base = "0" * 64
  config.hosts.clear
  config.log_level = :error
  config.logger = Logger.new($stderr)
  config.action_mailbox.incinerate = false
  config.active_storage.service = :local
  config.active_storage.service_configurations = { local: { service: "Disk", root: "#{ARGV[1]}/files" } }
  config.active_job.queue_adapter = :inline
end

class ApplicationMailbox < ActionMailbox::Base
  routing all: :print
end

class PrintMailbox < ApplicationMailbox
  def process
    recipients = Array(mail["X-Original-To"]).map(&:to_s)
    puts JSON.generate(subject: mail.subject, from: mail.from, original: recipients, size: inbound_email.source.bytesize)
    $stdout.flush
  end
end

Receiver.initialize!
ActiveRecord::Migration.verbose = false
paths = [ActiveStorage::Engine, ActionMailbox::Engine].map { |engine| "#{engine.root}/db/migrate" }
ActiveRecord::MigrationContext.new(paths, ActiveRecord::SchemaMigration).migrate

# An application has one ingress. Here it is the one whose path is asked for, one request at a time.
turn = Mutex.new
by_path = lambda do |env|
  turn.synchronize do
    ActionMailbox.ingress = env["PATH_INFO"][%r{\A/rails/action_mailbox/(\w+)/}, 1]&.to_sym
    Receiver.call(env)
  end
end
announce = -> { puts "listening"; $stdout.flush }
options = { Host: "127.0.0.1", Port: ARGV[0].to_i, AccessLog: [], Logger: WEBrick::Log.new($stderr, WEBrick::Log::ERROR) }
Rack::Handler::WEBrick.run(by_path, **options, StartCallback: announce)
