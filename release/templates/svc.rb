class Svc < Formula
  desc "Command-line of the svc media-generation and agent-run service"
  homepage "@REPOSITORY@"
  version "@VERSION@"
  license any_of: ["MIT", "Apache-2.0"]

  on_macos do
    on_arm do
      url "@URL:svc:aarch64-apple-darwin.tar.gz@"
      sha256 "@SHA256:svc:aarch64-apple-darwin.tar.gz@"
    end
    on_intel do
      url "@URL:svc:x86_64-apple-darwin.tar.gz@"
      sha256 "@SHA256:svc:x86_64-apple-darwin.tar.gz@"
    end
  end
  on_linux do
    on_arm do
      url "@URL:svc:aarch64-unknown-linux-musl.tar.gz@"
      sha256 "@SHA256:svc:aarch64-unknown-linux-musl.tar.gz@"
    end
    on_intel do
      url "@URL:svc:x86_64-unknown-linux-musl.tar.gz@"
      sha256 "@SHA256:svc:x86_64-unknown-linux-musl.tar.gz@"
    end
  end

  def install
    bin.install "svc"
    man1.install Dir["man/man1/*.1"]
    bash_completion.install "completions/svc.bash" => "svc"
    zsh_completion.install "completions/_svc"
    fish_completion.install "completions/svc.fish"
  end

  test do
    system bin/"svc", "--sandbox", "image", "generate", "a fox", "--model", "image-i", "--yes"
  end
end
